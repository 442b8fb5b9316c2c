"""Routes: patterns of a zone that a Worker answers."""

from __future__ import annotations

import re

from starlette.responses import Response

from sluiceway.local.api import envelope, errors, zones
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.api.workers import state
from sluiceway.local.store import Doc, Json, Records

_ROUTES = "/zones/{zone}/workers/routes"
_PATTERN = re.compile(r"^(https?://)?(\*?[^/*?#:\s]*)(:\d+)?(/[^?#\s]*)?$")


async def listing(call: Call) -> Response:
    zone = zones.require(call.state, call.param("zone"))
    return envelope.ok([_view(route) for route in call.state.all("route", zone["id"])])


async def get(call: Call) -> Response:
    return envelope.ok(_view(_require(call.state, call.param("zone"), call.param("route"))))


async def create(call: Call) -> Response:
    body = await call.object()

    def apply(records: Records) -> Doc:
        zone = zones.require(records, call.param("zone"))
        return _view(_add(records, call, zone, body.get("pattern"), body.get("script") or None))

    return envelope.ok(await call.control.change(apply))


async def update(call: Call) -> Response:
    body = await call.object()

    def apply(records: Records) -> Doc:
        route = _require(records, call.param("zone"), call.param("route"))
        zone = zones.require(records, route["zone_id"])
        pattern = _checked(zone, body.get("pattern"))
        _check_free(records, zone, pattern, besides=route["id"])
        changed = {**route, "pattern": pattern, "script": _script(records, body.get("script") or None)}
        records.put("route", route["id"], changed, zone["id"])
        return _view(changed)

    return envelope.ok(await call.control.change(apply))


async def delete(call: Call) -> Response:
    def apply(records: Records) -> Doc:
        route = _require(records, call.param("zone"), call.param("route"))
        records.delete("route", route["id"], route["zone_id"])
        return {"id": route["id"]}

    return envelope.ok(await call.control.change(apply))


async def replace(call: Call) -> Response:
    """wrangler's ``PUT scripts/{script}/routes``: the routes of a script become exactly these."""
    wanted = [_wrangler_route(item) for item in await call.array()]

    def apply(records: Records) -> list[str]:
        worker = state.require(records, call.param("script"))
        _check_owners(records, worker["name"], [pattern for pattern, _ in wanted])
        kept = {pattern for pattern, _ in wanted}
        for route in [r for r in records.all("route") if r.get("script") == worker["name"]]:
            if route["pattern"] in kept:
                kept.discard(route["pattern"])
            else:
                records.delete("route", route["id"], route["zone_id"])
        for pattern, named in wanted:
            if pattern in kept:
                _add(records, call, _zone_of(records, pattern, named), pattern, worker["name"])
        return [pattern for pattern, _ in wanted]

    return envelope.ok(await call.control.change(apply))


def _wrangler_route(item: Json) -> tuple[str, str]:
    given = item if isinstance(item, dict) else {"pattern": item}
    return str(given.get("pattern")), str(given.get("zone_id") or given.get("zone_name") or "")


def _zone_of(records: Records, pattern: str, named: str) -> Doc:
    host = _host(pattern)
    for zone in records.all("zone"):
        if named and named in (zone["id"], zone["name"]):
            return zone
    found = None if named else zones.of_hostname(records, host)
    if found is None:
        raise errors.ApiError(400, 10082, f"Could not find zone for `{named or host}`.")  # own number
    return found


def _add(records: Records, call: Call, zone: Doc, pattern: object, script: str | None) -> Doc:
    text = _checked(zone, pattern)
    _check_free(records, zone, text)
    route = {
        "id": call.config.hex_id(),
        "pattern": text,
        "script": _script(records, script),
        "zone_id": zone["id"],
        "zone_name": zone["name"],
    }
    records.put("route", route["id"], route, zone["id"])
    return route


def _checked(zone: Doc, pattern: object) -> str:
    if not isinstance(pattern, str) or not (parts := _PATTERN.match(pattern)) or not parts[2].strip("*"):
        raise errors.ApiError(400, 10022, f"Invalid URL pattern: {pattern}")
    host = parts[2].lstrip("*").lstrip(".").lower()
    if host != zone["name"] and not host.endswith(f".{zone['name']}"):
        raise errors.ApiError(400, 10023, f"Route pattern must include zone name {zone['name']}: {pattern}")
    return pattern


def _host(pattern: str) -> str:
    parts = _PATTERN.match(pattern)
    if not parts:
        raise errors.ApiError(400, 10022, f"Invalid URL pattern: {pattern}")
    return parts[2].lstrip("*").lstrip(".").lower()


def _check_free(records: Records, zone: Doc, pattern: str, besides: str = "") -> None:
    if any(r["pattern"] == pattern and r["id"] != besides for r in records.all("route", zone["id"])):
        raise errors.ApiError(409, 10020, "A route with the same pattern already exists.")


def _check_owners(records: Records, script: str, patterns: list[str]) -> None:
    owned: dict[str, list[str]] = {}
    for route in records.all("route"):
        if route["pattern"] in patterns and route.get("script") != script:
            owned.setdefault(str(route.get("script")), []).append(route["pattern"])
    if owned:
        lines = [
            f'"{name}" is already assigned to routes:' + "".join(f"\n - {p}" for p in found)
            for name, found in owned.items()
        ]
        raise errors.ApiError(
            409, 10020, "Can't deploy routes that are assigned to another worker.\n" + "\n".join(lines)
        )


def _script(records: Records, name: str | None) -> str | None:
    return state.require(records, name)["name"] if name else None


def _require(records: Records, zone: str, key: str) -> Doc:
    route = records.get("route", key, zones.require(records, zone)["id"])
    if route is None:
        raise errors.ApiError(404, 10009, "workers.api.error.route_not_found")
    return route


def _view(route: Doc) -> Doc:
    return {"id": route["id"], "pattern": route["pattern"], "script": route.get("script")}


async def listing_of_service(call: Call) -> Response:
    worker = state.require(call.state, call.param("script"), errors.service_not_found)
    return envelope.ok(
        [
            {**_view(r), "zone_name": r["zone_name"]}
            for r in call.state.all("route")
            if r.get("script") == worker["name"]
        ]
    )


ROUTES: Table = (
    ("GET", _ROUTES, listing),
    ("POST", _ROUTES, create),
    ("GET", f"{_ROUTES}/{{route}}", get),
    ("PUT", f"{_ROUTES}/{{route}}", update),
    ("DELETE", f"{_ROUTES}/{{route}}", delete),
    ("PUT", f"{ACCOUNT}/workers/scripts/{{script}}/routes", replace),
    ("GET", f"{ACCOUNT}/workers/services/{{script}}/environments/{{environment}}/routes", listing_of_service),
)
