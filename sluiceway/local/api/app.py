"""All routes of the control plane. The daemon puts them into one app with those of Workers AI."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluiceway.local.api import (
    ai_finetunes,
    ai_gateway,
    auth,
    envelope,
    errors,
    identity,
    queues,
    rulesets,
    stage,
    zones,
)
from sluiceway.local.api.config import ApiConfig
from sluiceway.local.api.control import Control
from sluiceway.local.api.http import build
from sluiceway.local.api.kv import namespaces, values
from sluiceway.local.api.r2 import buckets, objects
from sluiceway.local.api.workers import beta, domains, scripts, settings, zone_routes
from sluiceway.local.faults import hook
from sluiceway.local.faults.active import Faults

__all__ = ["ApiConfig", "Control", "routes"]

_TABLES = (
    identity.ROUTES,
    zones.ROUTES,
    # Before scripts and services: their paths are longer.
    zone_routes.ROUTES,
    domains.ROUTES,
    settings.ROUTES,
    scripts.ROUTES,
    beta.ROUTES,
    namespaces.ROUTES,
    values.ROUTES,
    buckets.ROUTES,
    objects.ROUTES,
    rulesets.ROUTES,
    ai_gateway.ROUTES,
    ai_finetunes.ROUTES,
    queues.ROUTES,
    stage.ROUTES,
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def routes(control: Control, faults: Faults | None = None) -> list[BaseRoute]:
    """Routes under ``/client/v4``, the last of which answers every other path there (404, code 7003).

    ``faults``: those that calls meet once they are known to be allowed.
    """
    found: list[BaseRoute] = [route for table in _TABLES for route in build(table, control)]
    found.append(Route("/client/v4/{path:rest}", _unknown, methods=list(_METHODS)))
    return auth.guarded(
        hook.struck(found, faults) if faults else found, control.config.token, control.config.account_id
    )


async def _unknown(request: Request) -> Response:
    error = errors.no_route(request.url.path)
    return envelope.fail(error.status, error.code, error.message)
