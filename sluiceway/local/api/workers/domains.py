"""Custom domains: host names that belong to a Worker whole."""

from __future__ import annotations

import hashlib
import re

from starlette.responses import Response

from sluiceway.local.api import envelope, errors, shapes, zones
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.api.workers import state
from sluiceway.local.store import Doc, Json, Records

_DOMAINS = f"{ACCOUNT}/workers/domains"
_SCRIPT = f"{ACCOUNT}/workers/scripts/{{script}}"
_HOSTNAME = re.compile(r"^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]+$")


async def listing(call: Call) -> Response:
    wanted = {key: call.query(key) for key in ("hostname", "service", "zone_id", "zone_name", "environment")}
    found = [d for d in call.state.all("domain") if all(not v or d[k] == v for k, v in wanted.items())]
    return envelope.ok(found)


async def get(call: Call) -> Response:
    return envelope.ok(_require(call.state, call.param("domain")))


async def put(call: Call) -> Response:
    """Attaches a host name, or moves it to another Worker."""
    body = await call.object()
    return envelope.ok(await call.control.change(lambda records: _attach(records, body, override_dns=False)))


async def delete(call: Call) -> Response:
    def apply(records: Records) -> Doc:
        domain = _require(records, call.param("domain"))
        records.delete("domain", domain["id"])
        return {"id": domain["id"]}

    return envelope.ok(await call.control.change(apply))


async def changeset(call: Call) -> Response:
    """What ``PUT domains/records`` with the same origins would do."""
    origins = await call.array()
    script = call.param("script")
    current = {domain["hostname"]: domain for domain in call.state.all("domain")}
    wanted = {_hostname(origin): origin for origin in origins}
    updated = [{**current[h], "modified": current[h]["service"] != script} for h in wanted if h in current]
    added = [origin for h, origin in wanted.items() if h not in current]
    removed = [d for d in current.values() if d["service"] == script and d["hostname"] not in wanted]
    conflicting = [{"hostname": h} for h in wanted if h not in current and _dns(call.state, h)]
    return envelope.ok({"added": added, "removed": removed, "updated": updated, "conflicting": conflicting})


async def put_records(call: Call) -> Response:
    """wrangler's way: the domains of a script become exactly these."""
    body = await call.object(shapes.Origins)
    origins: list[Json] = body.get("origins") or []

    def apply(records: Records) -> list[Doc]:
        worker = state.require(records, call.param("script"))
        current = {domain["hostname"]: domain for domain in records.all("domain")}
        wanted = [_hostname(origin) for origin in origins]
        taken = [h for h in wanted if h in current and current[h]["service"] != worker["name"]]
        if taken and not body.get("override_existing_origin"):
            raise errors.ApiError(409, 100116, f"Hostname '{taken[0]}' is already a custom domain of another Worker.")
        for domain in current.values():
            if domain["service"] == worker["name"] and domain["hostname"] not in wanted:
                records.delete("domain", domain["id"])
        override = bool(body.get("override_existing_dns_record"))
        return [_attach(records, {**origin, "service": worker["name"]}, override) for origin in origins]

    return envelope.ok(await call.control.change(apply))


def _attach(records: Records, given: Doc, override_dns: bool) -> Doc:
    hostname = _hostname(given)
    worker = state.require(records, str(given.get("service") or ""))
    zone = _zone(records, given, hostname)
    known = records.get("domain", _id(hostname))
    conflicts = [] if known else _dns(records, hostname)
    if conflicts and not override_dns:
        raise errors.ApiError(
            409,
            100117,
            f"Hostname '{hostname}' already has externally managed DNS records (A, CNAME, etc). Either delete them,"
            " try a different hostname, or use the option 'override_existing_dns_record' to override.",
        )
    for record in conflicts:
        records.delete("dns", record["id"], record["zone_id"])
    domain = {
        "id": _id(hostname),
        "hostname": hostname,
        "service": worker["name"],
        "environment": given.get("environment") or "production",
        "zone_id": zone["id"],
        "zone_name": zone["name"],
        "certificate_id": "",
    }
    records.put("domain", domain["id"], domain)
    return domain


def _zone(records: Records, given: Doc, hostname: str) -> Doc:
    if given.get("zone_id"):
        zone: Doc | None = zones.require(records, str(given["zone_id"]))
    elif given.get("zone_name"):
        zone = next((z for z in records.all("zone") if z["name"] == given["zone_name"]), None)
    else:
        zone = zones.of_hostname(records, hostname)
    if zone is None or (hostname != zone["name"] and not hostname.endswith(f".{zone['name']}")):
        raise errors.ApiError(400, 100115, f"Hostname '{hostname}' is not in a zone of this account.")  # own number
    return zone


def _hostname(origin: Json) -> str:
    hostname = str(origin.get("hostname") if isinstance(origin, dict) else origin).lower()
    if not _HOSTNAME.match(hostname):
        raise errors.ApiError(400, 100114, f"Hostname '{hostname}' is invalid: no scheme, port, path or wildcard.")
    return hostname


def _dns(records: Records, hostname: str) -> list[Doc]:
    return [record for record in records.all("dns") if record["name"] == hostname]


def _id(hostname: str) -> str:
    return hashlib.sha256(f"domain:{hostname}".encode()).hexdigest()[:32]


def _require(records: Records, key: str) -> Doc:
    domain = records.get("domain", key)
    if domain is None:
        raise errors.ApiError(404, 100113, "Custom domain not found.")  # own number
    return domain


ROUTES: Table = (
    ("GET", _DOMAINS, listing),
    ("PUT", _DOMAINS, put),
    ("GET", f"{_DOMAINS}/records", listing),
    ("GET", f"{_DOMAINS}/records/{{domain}}", get),
    ("GET", f"{_DOMAINS}/{{domain}}", get),
    ("DELETE", f"{_DOMAINS}/{{domain}}", delete),
    ("POST", f"{_SCRIPT}/domains/changeset", changeset),
    ("PUT", f"{_SCRIPT}/domains/records", put_records),
)
