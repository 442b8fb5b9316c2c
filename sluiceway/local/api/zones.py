"""Zones, and the DNS records that custom domains may collide with."""

from __future__ import annotations

import re

from starlette.responses import Response

from sluiceway.local.api import envelope, errors, shapes
from sluiceway.local.api.config import ApiConfig, zone_id
from sluiceway.local.api.http import Call, Table
from sluiceway.local.store import Doc, Records

_NAME = re.compile(r"^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$")
_ZONE = "/zones/{zone}"


def require(records: Records, key: str) -> Doc:
    zone = records.get("zone", key)
    if zone is None:
        raise errors.ApiError(404, 7003, f"Could not route to /zones/{key}, perhaps your object identifier is invalid?")
    return zone


def of_hostname(records: Records, hostname: str) -> Doc | None:
    """The zone that a host name lies in; the longest one if zones nest."""
    found = [z for z in records.all("zone") if hostname == z["name"] or hostname.endswith(f".{z['name']}")]
    return max(found, key=lambda zone: len(zone["name"]), default=None)


async def listing(call: Call) -> Response:
    wanted, account = call.query("name"), call.query("account.id")
    zones = [z for z in call.state.all("zone") if not wanted or z["name"] == wanted]
    if account and account != call.config.account_id:
        zones = []
    return call.paged([_view(call.config, zone) for zone in zones])


async def get(call: Call) -> Response:
    return envelope.ok(_view(call.config, require(call.state, call.param("zone"))))


async def create(call: Call) -> Response:
    name = str((await call.object()).get("name", "")).lower()
    if not _NAME.match(name):
        raise errors.ApiError(400, 1002, "Invalid zone name.")

    def apply(records: Records) -> Doc:
        if records.get("zone", zone_id(name)):
            raise errors.ApiError(400, 1061, f"{name} already exists.")
        zone = {"id": zone_id(name), "name": name, "created_on": call.config.stamp()}
        records.put("zone", zone["id"], zone)
        return zone

    return envelope.ok(_view(call.config, await call.control.change(apply)))


async def delete(call: Call) -> Response:
    def apply(records: Records) -> Doc:
        zone = require(records, call.param("zone"))
        for kind in ("route", "ruleset", "dns"):
            records.delete_scope(kind, zone["id"])
        for domain in [d for d in records.all("domain") if d["zone_id"] == zone["id"]]:
            records.delete("domain", domain["id"])
        records.delete("zone", zone["id"])
        return {"id": zone["id"]}

    return envelope.ok(await call.control.change(apply))


async def list_dns(call: Call) -> Response:
    zone, name = require(call.state, call.param("zone")), call.query("name")
    return call.paged([r for r in call.state.all("dns", zone["id"]) if not name or r["name"] == name], size=100)


async def create_dns(call: Call) -> Response:
    body = await call.object(shapes.Record)
    if not body.get("type") or not body.get("name"):
        raise errors.ApiError(400, 9000, "DNS name is invalid.")

    def apply(records: Records) -> Doc:
        zone = require(records, call.param("zone"))
        record: Doc = {
            "ttl": 1,
            "proxied": False,
            **{key: body.get(key) for key in ("type", "name", "content")},
            **{key: body[key] for key in ("ttl", "proxied", "comment") if key in body},
            "id": call.config.hex_id(),
            "zone_id": zone["id"],
            "zone_name": zone["name"],
            "created_on": call.config.stamp(),
        }
        records.put("dns", record["id"], record, zone["id"])
        return record

    return envelope.ok(await call.control.change(apply))


async def delete_dns(call: Call) -> Response:
    key = call.param("record")

    def apply(records: Records) -> None:
        if not records.delete("dns", key, require(records, call.param("zone"))["id"]):
            raise errors.ApiError(404, 81044, "Record does not exist.")

    await call.control.change(apply)
    return envelope.ok({"id": key})


def _view(config: ApiConfig, zone: Doc) -> Doc:
    return {
        **zone,
        "status": "active",
        "paused": False,
        "type": "full",
        "modified_on": zone["created_on"],
        "activated_on": zone["created_on"],
        "development_mode": 0,
        "name_servers": [],
        "original_name_servers": [],
        "original_dnshost": None,
        "original_registrar": None,
        "owner": {"id": None, "type": "user", "name": None},
        "account": {"id": config.account_id, "name": config.account_name},
        "permissions": [],
        "plan": {"id": "free", "name": "Free Website", "legacy_id": "free"},
        "meta": {},
    }


ROUTES: Table = (
    ("GET", "/zones", listing),
    ("POST", "/zones", create),
    ("GET", _ZONE, get),
    ("DELETE", _ZONE, delete),
    ("GET", f"{_ZONE}/dns_records", list_dns),
    ("POST", f"{_ZONE}/dns_records", create_dns),
    ("DELETE", f"{_ZONE}/dns_records/{{record}}", delete_dns),
)
