"""Who may call: one bearer token, one account."""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable, Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluiceway.local.api import envelope, errors

_ACCOUNT = re.compile(r"^/(?:client/v4/accounts|_local/gateway/v1)/([^/]+)")


def refuse(request: Request, token: str, account_id: str) -> Response | None:
    """None if the call may go on; else 401 (no or another token) or 403 (another account)."""
    given = request.headers.get("authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        if request.url.path.endswith("/tokens/verify"):
            return envelope.fail(401, 1000, "Invalid API Token")
        return _failed(errors.authentication())
    named = _ACCOUNT.match(request.url.path)
    if named and named[1] != account_id:
        return _failed(errors.wrong_account())
    return None


def guarded(routes: Iterable[BaseRoute], token: str, account_id: str) -> list[BaseRoute]:
    """The same routes, each of which first refuses callers without the right."""
    return [_guard(route, token, account_id) if isinstance(route, Route) else route for route in routes]


def _guard(route: Route, token: str, account_id: str) -> Route:
    inner: Callable[[Request], Awaitable[Response]] = route.endpoint

    async def endpoint(request: Request) -> Response:
        return refuse(request, token, account_id) or await inner(request)

    return Route(route.path, endpoint, methods=sorted(route.methods or ()), include_in_schema=False)


def _failed(error: errors.ApiError) -> Response:
    return envelope.fail(error.status, error.code, error.message)
