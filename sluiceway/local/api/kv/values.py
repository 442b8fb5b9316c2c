"""Keys and values of a namespace, one by one and in bulk."""

from __future__ import annotations

import asyncio
import base64
import json
from urllib.parse import unquote

from starlette.datastructures import UploadFile
from starlette.responses import Response

from sluiceway.local.api import envelope, errors
from sluiceway.local.api.http import Call, Table, parsed
from sluiceway.local.api.kv import rules
from sluiceway.local.api.kv.namespaces import BASE, require
from sluiceway.local.store import Doc, Json

_NAMESPACE = f"{BASE}/{{namespace}}"
# Enough to use the data plane fully, few enough not to starve other callers.
_AT_ONCE = 16


async def put(call: Call) -> Response:
    """The value is the raw body, or part ``value`` of a multipart body with a part ``metadata``."""
    namespace, key = require(call.state, call.param("namespace"), "put")["id"], call.param("key")
    rules.check_key("put", key)
    options = rules.expiry("put", call.request.query_params, call.config.now())
    metadata: Json = None
    if call.request.headers.get("content-type", "").startswith("multipart/form-data"):
        value, metadata = await _form(call)
    else:
        value = await call.request.body()
    rules.check_value("put", value)
    if metadata is not None:
        rules.check_metadata("put", metadata)
    await call.control.host.kv_put(namespace, key, value, metadata, options)
    return envelope.ok(None)


async def get(call: Call) -> Response:
    namespace, key = require(call.state, call.param("namespace"), "get")["id"], call.param("key")
    rules.check_key("get", key)
    found = await call.control.host.kv_get(namespace, key)
    if found is None:
        raise rules.key_not_found()
    passed = {name: found.headers[name] for name in ("expiration",) if name in found.headers}
    return Response(found.body, media_type="application/octet-stream", headers=passed)


async def get_metadata(call: Call) -> Response:
    namespace, key = require(call.state, call.param("namespace"), "get")["id"], call.param("key")
    rules.check_key("get", key)
    found = await call.control.host.kv_get(namespace, key)
    if found is None:
        raise rules.key_not_found()
    return envelope.ok(_metadata(found.headers))


async def delete(call: Call) -> Response:
    namespace, key = require(call.state, call.param("namespace"), "remove key")["id"], call.param("key")
    rules.check_key("remove key", key)
    await call.control.host.kv_delete(namespace, key)
    return envelope.ok(None)


async def keys(call: Call) -> Response:
    namespace = require(call.state, call.param("namespace"), "list keys")["id"]
    limit = call.number("limit", 1000, low=10, high=1000)
    params = {"limit": str(limit)}
    params |= {name: call.query(name) for name in ("prefix", "cursor") if call.query(name)}
    found = await call.control.host.kv_keys(namespace, params)
    shown = [{k: v for k, v in key.items() if v is not None} for key in found["keys"]]
    cursor = "" if found.get("list_complete") else found.get("cursor") or ""
    return envelope.ok(shown, info={"count": len(shown), "cursor": cursor})


async def bulk_put(call: Call) -> Response:
    """All pairs are checked before the first is written."""
    namespace = require(call.state, call.param("namespace"), "bulk write")["id"]
    pairs = await call.array()
    if len(pairs) > rules.MAX_BULK:
        raise errors.ApiError(400, 10027, f"bulk write: 'more than {rules.MAX_BULK} pairs'")
    checked = [_pair(call, pair) for pair in pairs]
    if sum(len(value) for _, value, _, _ in checked) > rules.MAX_BULK_BYTES:
        raise errors.ApiError(413, 10028, "bulk write: 'the request is larger than 100 MB'")
    host, gate = call.control.host, asyncio.Semaphore(_AT_ONCE)

    async def write(key: str, value: bytes, metadata: Json, options: dict[str, int]) -> None:
        async with gate:
            await host.kv_put(namespace, key, value, metadata, options)

    await asyncio.gather(*(write(*pair) for pair in checked))
    return envelope.ok({"successful_key_count": len(checked), "unsuccessful_keys": []})


async def bulk_delete(call: Call) -> Response:
    namespace = require(call.state, call.param("namespace"), "bulk remove")["id"]
    wanted = await _bulk_keys(call, await call.array(), rules.MAX_BULK)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def remove(key: str) -> None:
        async with gate:
            await call.control.host.kv_delete(namespace, key)

    await asyncio.gather(*(remove(key) for key in wanted))
    return envelope.ok({"successful_key_count": len(wanted), "unsuccessful_keys": []})


async def bulk_get(call: Call) -> Response:
    namespace = require(call.state, call.param("namespace"), "bulk get")["id"]
    body = await call.object()
    wanted = await _bulk_keys(call, body.get("keys"), rules.MAX_BULK_GET)
    found = await asyncio.gather(*(call.control.host.kv_get(namespace, key) for key in wanted))
    values: Doc = {}
    for key, stored in zip(wanted, found, strict=True):
        value: Json = None if stored is None else stored.body.decode("utf-8", "replace")
        if value is not None and body.get("type") == "json":
            value = _as_json(key, value)
        if body.get("withMetadata"):
            value = None if stored is None else {"value": value, "metadata": _metadata(stored.headers)}
        values[key] = value
    return envelope.ok({"values": values})


def _as_json(key: str, value: str) -> Json:
    try:
        return parsed(value)
    except ValueError as error:
        raise errors.ApiError(400, 10012, f"bulk get: 'the value of {key} is not json'") from error


async def _form(call: Call) -> tuple[bytes, Json]:
    async with call.request.form(max_part_size=rules.MAX_VALUE_BYTES + 1) as form:
        value, metadata = form.get("value"), form.get("metadata")
        if value is None:
            raise errors.ApiError(400, 10012, "put: 'the value part is missing'")
        content = await value.read() if isinstance(value, UploadFile) else value.encode()
        text = await metadata.read() if isinstance(metadata, UploadFile) else metadata
    if not text:
        return content, None
    try:
        return content, parsed(text)
    except ValueError as error:
        raise errors.ApiError(400, 10012, "put: 'metadata must be valid json'") from error


def _pair(call: Call, pair: Json) -> tuple[str, bytes, Json, dict[str, int]]:
    if not isinstance(pair, dict) or not isinstance(pair.get("key"), str) or not isinstance(pair.get("value"), str):
        raise errors.ApiError(400, 10012, "bulk write: 'each pair needs a key and a value'")
    try:
        value = base64.b64decode(pair["value"], validate=True) if pair.get("base64") else pair["value"].encode()
    except ValueError as error:
        raise errors.ApiError(400, 10012, f"bulk write: 'the value of {pair['key']} is not base64'") from error
    rules.check_key("bulk write", pair["key"])
    rules.check_value("bulk write", value)
    metadata = pair.get("metadata")
    if metadata is not None:
        rules.check_metadata("bulk write", metadata)
    return pair["key"], value, metadata, rules.expiry("bulk write", pair, call.config.now())


async def _bulk_keys(call: Call, given: Json, most: int) -> list[str]:
    if not isinstance(given, list) or len(given) > most:
        raise errors.ApiError(400, 10027, f"bulk: 'at most {most} keys at once'")
    names = [str(item.get("name")) if isinstance(item, dict) else str(item) for item in given]
    for name in names:
        rules.check_key("bulk", name)
    return names


def _metadata(headers: Json) -> Json:
    text = headers.get("x-kv-metadata")
    return json.loads(unquote(text)) if text else None


ROUTES: Table = (
    ("PUT", f"{_NAMESPACE}/values/{{key:rest}}", put),
    ("GET", f"{_NAMESPACE}/values/{{key:rest}}", get),
    ("DELETE", f"{_NAMESPACE}/values/{{key:rest}}", delete),
    ("GET", f"{_NAMESPACE}/metadata/{{key:rest}}", get_metadata),
    ("GET", f"{_NAMESPACE}/keys", keys),
    ("PUT", f"{_NAMESPACE}/bulk", bulk_put),
    ("DELETE", f"{_NAMESPACE}/bulk", bulk_delete),
    ("POST", f"{_NAMESPACE}/bulk/delete", bulk_delete),
    ("POST", f"{_NAMESPACE}/bulk/get", bulk_get),
)
