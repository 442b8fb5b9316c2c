"""AI Gateways."""

from __future__ import annotations

import re

from starlette.responses import Response

from sluiceway.local.api import envelope
from sluiceway.local.api.errors import ApiError
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.store import Doc, Json, Records

_BASE = f"{ACCOUNT}/ai-gateway/gateways"
_GATEWAY = f"{_BASE}/{{gateway}}"
_ID = re.compile(r"^[a-z0-9_]+(-[a-z0-9_]+)*$")
MAX_GATEWAYS = 20
_REQUIRED: dict[str, type] = {
    "cache_invalidate_on_update": bool,
    "cache_ttl": int,
    "collect_logs": bool,
    "rate_limiting_interval": int,
    "rate_limiting_limit": int,
}
# What the server answers for settings that were not sent.
_DEFAULTS: Doc = {
    "authentication": False,
    "rate_limiting_technique": "fixed",
    "workers_ai_billing_mode": "postpaid",
    "is_default": False,
    "logpush": False,
    "zdr": False,
}


async def listing(call: Call) -> Response:
    wanted = call.query("search")
    return call.paged([_view(call, g) for g in call.state.all("gateway") if wanted in g["id"]])


async def get(call: Call) -> Response:
    return envelope.ok(_view(call, _require(call.state, call.param("gateway"))))


async def create(call: Call) -> Response:
    body = await call.object()
    key = body.get("id")
    if not isinstance(key, str) or not _ID.match(key) or len(key) > 64:
        raise ApiError(400, 7001, "id: must be 1 to 64 lowercase letters, digits, underscores and single dashes")
    _check(body)

    def apply(records: Records) -> Doc:
        if records.get("gateway", key):
            raise ApiError(409, 7004, f"AI Gateway {key} already exists")
        if len(records.all("gateway")) >= MAX_GATEWAYS:
            raise ApiError(403, 7005, f"an account has at most {MAX_GATEWAYS} AI Gateways")
        return _write(records, call, key, body, None)

    return envelope.ok(_view(call, await call.control.change(apply)))


async def update(call: Call) -> Response:
    """Replaces every setting."""
    body = await call.object()
    _check(body)

    def apply(records: Records) -> Doc:
        old = _require(records, call.param("gateway"))
        return _write(records, call, old["id"], body, old)

    return envelope.ok(_view(call, await call.control.change(apply)))


async def delete(call: Call) -> Response:
    def apply(records: Records) -> Doc:
        gateway = _require(records, call.param("gateway"))
        records.delete("gateway", gateway["id"])
        return gateway

    return envelope.ok(_view(call, await call.control.change(apply)))


def _write(records: Records, call: Call, key: str, body: Doc, old: Doc | None) -> Doc:
    now = call.config.stamp()
    gateway = {
        **_DEFAULTS,
        **{name: value for name, value in body.items() if value is not None},
        "id": key,
        "created_at": old["created_at"] if old else now,
        "modified_at": now,
    }
    records.put("gateway", key, gateway)
    return gateway


def _check(body: Doc) -> None:
    for name, type_ in _REQUIRED.items():
        value: Json = body.get(name)
        fits = isinstance(value, type_) and isinstance(value, bool) == (type_ is bool)
        if not fits or value < 0:
            raise ApiError(400, 7001, f"{name}: required, {'a boolean' if type_ is bool else 'a number from 0'}")
    if body.get("rate_limiting_technique", "fixed") not in ("fixed", "sliding"):
        raise ApiError(400, 7001, "rate_limiting_technique: must be fixed or sliding")


def _require(records: Records, key: str) -> Doc:
    gateway = records.get("gateway", key)
    if gateway is None:
        raise ApiError(404, 7002, f"AI Gateway {key} not found")
    return gateway


def _view(call: Call, gateway: Doc) -> Doc:
    return {**gateway, "account_id": call.config.account_id, "account_tag": call.config.account_id}


ROUTES: Table = (
    ("GET", _BASE, listing),
    ("POST", _BASE, create),
    ("GET", _GATEWAY, get),
    ("PUT", _GATEWAY, update),
    ("DELETE", _GATEWAY, delete),
)
