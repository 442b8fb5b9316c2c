"""Rules between settings, which no single value can break alone. Each fault is told where it is mended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sluiceway.domain.hostname import in_zone, route_host
from sluiceway.domain.model import parse_ref
from sluiceway.domain.stage import LOCAL, LOCAL_ACCOUNT, ORDER
from sluiceway.errors import UserError
from sluiceway.settings.model import Settings
from sluiceway.settings.policies import is_loopback

GATEWAY_KEY: Final = "API_KEY"
STAGE_SECRETS: Final = (GATEWAY_KEY, "ADMIN_KEY")
"""The secrets of a stage that lists none. One that lists them without ADMIN_KEY has no admin endpoints."""
Where = Callable[[str], str]


def check(settings: Settings, where: Where) -> None:
    """UserError for the first rule that the settings break; ``where(path)`` makes its path."""
    _account(settings, where)
    _worker_name(settings, where)
    _zone(settings, where)
    _versions(settings, where)
    _secrets(settings, where)
    _loopback(settings, where)


def _account(settings: Settings, where: Where) -> None:
    if (settings.account_id == LOCAL_ACCOUNT) != (settings.stage == LOCAL):
        raise UserError(
            f"the local account belongs to the stage {LOCAL} and no other",
            path=where("account_id"),
            got=settings.account_id,
            hint=f"stage {LOCAL} has {LOCAL_ACCOUNT}, every other stage an account of Cloudflare's",
        )


def _worker_name(settings: Settings, where: Where) -> None:
    name = settings.worker_name
    if name is None:
        return
    words = name.split("-")
    foreign = next((stage for stage in ORDER if stage != settings.stage and stage in words), None)
    if foreign or settings.stage not in name:
        raise UserError(
            f"a Worker's name holds its own stage's name{f', not {foreign}' if foreign else ''}",
            path=where("worker_name"),
            got=name,
            hint=f"stages may share an account, so one must not take another's Worker: e.g. gateway-{settings.stage}",
        )


def _zone(settings: Settings, where: Where) -> None:
    hosts = [(f"routes[{at}]", text, route_host(text)) for at, text in enumerate(settings.routes)]
    hosts += [(f"custom_domains[{at}]", text, text) for at, text in enumerate(settings.custom_domains)]
    zone = settings.zone
    if zone is None:
        needs = [path for path, _, _ in hosts] + ["zone_rate_limits"] * bool(settings.zone_rate_limits)
        if needs:
            raise UserError(
                "needs a zone",
                path=where(needs[0].partition("[")[0]),
                hint="add sluiceway:zone with the zone's name and id",
            )
        return
    if settings.zone_rate_limits and not hosts:
        raise UserError(
            "limits hosts of the zone, and none is served",
            path=where("zone_rate_limits"),
            hint="add a route or a custom domain, or use sluiceway:rate_limit, which holds on workers.dev too",
        )
    for path, text, host in hosts:
        if not in_zone(host, zone.name):
            hint = f"name a host of {zone.name}, or write the zone of {host} into sluiceway:zone"
            raise UserError(f"is outside the zone {zone.name}", path=where(path), got=text, hint=hint)
    names = [rule.name for rule in settings.zone_rate_limits]
    for at, name in enumerate(names):
        if name in names[:at]:
            path = where(f"zone_rate_limits[{at}].name")
            raise UserError("a rule's name stands once", path=path, got=name, hint=f"name it {name}-{at + 1}, say")


def _versions(settings: Settings, where: Where) -> None:
    for model, of_model in settings.models.items():
        for place, version in of_model.named():
            ref = parse_ref(version)
            if ref.model != model:
                kind = "split" if of_model.rollout is None else "rollout"
                raise UserError(
                    f"a {kind} of {model} names versions of {model}",
                    path=where(f"models.{model}.{place}"),
                    got=version,
                    hint=f"write {model}@{ref.number}, or give {ref.model} a {kind} of its own beside {model}",
                )


def _secrets(settings: Settings, where: Where) -> None:
    if settings.secrets and GATEWAY_KEY not in settings.secrets:
        raise UserError(
            f"{GATEWAY_KEY} is missing",
            path=where("secrets"),
            got=list(settings.secrets),
            hint="the gateway's own key is always among the secrets",
        )


def _loopback(settings: Settings, where: Where) -> None:
    """Whoever is on the way could let anybody in, or read along, everywhere but on stage local."""
    if settings.stage == LOCAL:
        return
    otlp = settings.telemetry.otlp
    addresses = [("telemetry.otlp.endpoint", otlp.endpoint)] if otlp else []
    for at, issuer in enumerate(settings.auth.issuers):
        addresses.append((f"auth.issuers[{at}].issuer", issuer.issuer))
        addresses.append((f"auth.issuers[{at}].jwks_uri", issuer.jwks_uri))
    for path, address in addresses:
        if is_loopback(address):
            hint = f"write https:{address.removeprefix('http:')}; http on this machine is for stage {LOCAL} alone"
            raise UserError("is an https:// address", path=where(path), got=address, hint=hint)
