"""Rulesets of a zone: one entry point per phase, of which the data plane runs http_ratelimit."""

from __future__ import annotations

from starlette.responses import Response

from sluiceway.local.api import envelope, errors, shapes, zones
from sluiceway.local.api.config import ApiConfig
from sluiceway.local.api.http import Call, Table
from sluiceway.local.store import Doc, Json, Records

_BASE = "/zones/{zone}/rulesets"
PHASES = frozenset(
    {
        "http_ratelimit",
        "http_request_late_transform",
        "http_request_firewall_custom",
        "http_request_transform",
        "http_request_dynamic_redirect",
        "http_response_headers_transform",
    }
)


async def listing(call: Call) -> Response:
    zone = zones.require(call.state, call.param("zone"))
    return envelope.ok([_without_rules(ruleset) for ruleset in call.state.all("ruleset", zone["id"])])


async def create(call: Call) -> Response:
    body = await call.object(shapes.Ruleset)
    phase = _phase(body.get("phase"))
    if body.get("kind") != "zone":
        raise errors.ApiError(400, 20021, "the kind of a ruleset of a zone must be 'zone'")

    def apply(records: Records) -> Doc:
        zone = zones.require(records, call.param("zone"))
        if _entry_point(records, zone, phase):
            raise errors.ApiError(
                400, 20217, f"exceeded maximum number of zone rulesets for phase {phase}: a zone has at most 1"
            )
        return _write(records, call.config, zone, None, {**body, "phase": phase})

    return envelope.ok(_view(await call.control.change(apply)))


async def get(call: Call) -> Response:
    return envelope.ok(_view(_require(call.state, call.param("zone"), call.param("ruleset"))))


async def update(call: Call) -> Response:
    """Replaces all rules."""
    body = await call.object(shapes.Ruleset)

    def apply(records: Records) -> Doc:
        zone = zones.require(records, call.param("zone"))
        return _write(records, call.config, zone, _require(records, zone["id"], call.param("ruleset")), body)

    return envelope.ok(_view(await call.control.change(apply)))


async def delete(call: Call) -> Response:
    def apply(records: Records) -> None:
        ruleset = _require(records, call.param("zone"), call.param("ruleset"))
        records.delete("ruleset", ruleset["id"], ruleset["zone_id"])

    await call.control.change(apply)
    return Response(status_code=204)


async def get_entry_point(call: Call) -> Response:
    phase = _phase(call.param("phase"))
    found = _entry_point(call.state, zones.require(call.state, call.param("zone")), phase)
    if found is None:
        raise errors.ApiError(404, 10003, f"could not find entrypoint ruleset in the {phase} phase")
    return envelope.ok(_view(found))


async def put_entry_point(call: Call) -> Response:
    body, phase = await call.object(shapes.Ruleset), _phase(call.param("phase"))

    def apply(records: Records) -> Doc:
        zone = zones.require(records, call.param("zone"))
        given = {"name": "default", "kind": "zone", **body, "phase": phase}
        return _write(records, call.config, zone, _entry_point(records, zone, phase), given)

    return envelope.ok(_view(await call.control.change(apply)))


async def add_rule(call: Call) -> Response:
    body = await call.object(shapes.Rule)
    return await _change_rules(call, lambda rules: [*rules, body])


async def change_rule(call: Call) -> Response:
    body, key = await call.object(shapes.Rule), call.param("rule")
    return await _change_rules(
        call, lambda rules: [{**r, **body, "id": key} if r["id"] == key else r for r in rules], key
    )


async def delete_rule(call: Call) -> Response:
    key = call.param("rule")
    return await _change_rules(call, lambda rules: [r for r in rules if r["id"] != key], key)


async def _change_rules(call: Call, edit: Json, key: str = "") -> Response:
    def apply(records: Records) -> Doc:
        zone = zones.require(records, call.param("zone"))
        ruleset = _require(records, zone["id"], call.param("ruleset"))
        if key and all(rule["id"] != key for rule in ruleset["rules"]):
            raise errors.ApiError(404, 10002, f"could not find rule {key}")
        return _write(records, call.config, zone, ruleset, {**ruleset, "rules": edit(ruleset["rules"])})

    return envelope.ok(_view(await call.control.change(apply)))


def _write(records: Records, config: ApiConfig, zone: Doc, old: Doc | None, given: Doc) -> Doc:
    phase = old["phase"] if old else given["phase"]
    now = config.stamp()
    ruleset = {
        "id": old["id"] if old else config.hex_id(),
        "zone_id": zone["id"],
        "name": given.get("name") or (old or {}).get("name") or "default",
        "description": given.get("description") or "",
        "kind": "zone",
        "phase": phase,
        "version": str(int((old or {}).get("version", 0)) + 1),
        "last_updated": now,
        "rules": [_rule(config, phase, rule, now) for rule in given.get("rules") or []],
    }
    records.put("ruleset", ruleset["id"], ruleset, zone["id"])
    return ruleset


def _rule(config: ApiConfig, phase: str, given: Doc, now: str) -> Doc:
    if not given.get("action") or not given.get("expression"):
        raise errors.ApiError(400, 20015, "a rule must have an action and an expression")
    if phase == "http_ratelimit":
        _check_ratelimit(given.get("ratelimit"))
    key = given.get("id") or config.hex_id()
    return {
        **given,
        "id": key,
        "ref": given.get("ref") or key,
        "version": "1",
        "enabled": given.get("enabled", True),
        "description": given.get("description") or "",
        "last_updated": now,
    }


def _check_ratelimit(limit: Json) -> None:
    if not isinstance(limit, dict):
        raise errors.ApiError(400, 20120, "a rule of phase http_ratelimit must have a ratelimit")
    if "cf.colo.id" not in (limit.get("characteristics") or []):
        raise errors.ApiError(400, 20155, "the characteristics of a rate limit must include cf.colo.id")
    if limit.get("period") not in (10, 60, 120, 300, 600, 3600):
        raise errors.ApiError(400, 20120, "the period of a rate limit must be one of 10, 60, 120, 300, 600, 3600")
    requests = limit.get("requests_per_period")
    if not isinstance(requests, int) or requests < 1:
        raise errors.ApiError(400, 20120, "requests_per_period of a rate limit must be at least 1")


def _phase(name: object) -> str:
    if not isinstance(name, str) or name not in PHASES:
        raise errors.ApiError(400, 20022, f"invalid phase: {name}")
    return name


def _entry_point(records: Records, zone: Doc, phase: str) -> Doc | None:
    return next((r for r in records.all("ruleset", zone["id"]) if r["phase"] == phase), None)


def _require(records: Records, zone: str, key: str) -> Doc:
    ruleset = records.get("ruleset", key, zones.require(records, zone)["id"])
    if ruleset is None:
        raise errors.ApiError(404, 10003, f"could not find ruleset {key}")
    return ruleset


def _view(ruleset: Doc) -> Doc:
    return {key: value for key, value in ruleset.items() if key != "zone_id"}


def _without_rules(ruleset: Doc) -> Doc:
    return {key: value for key, value in _view(ruleset).items() if key != "rules"}


ROUTES: Table = (
    ("GET", _BASE, listing),
    ("POST", _BASE, create),
    ("GET", f"{_BASE}/phases/{{phase}}/entrypoint", get_entry_point),
    ("PUT", f"{_BASE}/phases/{{phase}}/entrypoint", put_entry_point),
    ("GET", f"{_BASE}/{{ruleset}}", get),
    ("PUT", f"{_BASE}/{{ruleset}}", update),
    ("DELETE", f"{_BASE}/{{ruleset}}", delete),
    ("POST", f"{_BASE}/{{ruleset}}/rules", add_rule),
    ("PATCH", f"{_BASE}/{{ruleset}}/rules/{{rule}}", change_rule),
    ("DELETE", f"{_BASE}/{{ruleset}}/rules/{{rule}}", delete_rule),
)
