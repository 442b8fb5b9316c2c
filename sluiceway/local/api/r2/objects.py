"""Objects by REST, as wrangler reads and writes them. Large ones go by S3."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
from starlette.responses import Response, StreamingResponse

from sluiceway.local import world
from sluiceway.local.api import envelope
from sluiceway.local.api.errors import ApiError, HostError
from sluiceway.local.api.http import Call, Table
from sluiceway.local.api.r2.buckets import BUCKET, require

MAX_KEY_BYTES = 1024
MAX_UPLOAD_BYTES = 300 * 1024 * 1024
# Stored with the object and answered with it.
_HTTP_METADATA = (
    "content-type",
    "content-disposition",
    "content-encoding",
    "content-language",
    "cache-control",
    "expires",
)
_ANSWERED = (*_HTTP_METADATA, "etag", "last-modified", "content-length", "content-range")


async def put(call: Call) -> Response:
    bucket = _bucket(call)
    declared = call.request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_UPLOAD_BYTES:
        raise ApiError(413, 10063, "The object is too large for this API: use the S3 API.")
    passed = {name: call.request.headers[name] for name in _HTTP_METADATA if name in call.request.headers}
    if declared:
        passed["content-length"] = declared
    if "content-encoding" in passed:
        # The encoding of the object is not that of this transfer.
        passed["x-r2-content-encoding"] = passed.pop("content-encoding")
    return envelope.ok(await call.control.host.r2_put(bucket, _key(call), _limited(call), passed))


async def get(call: Call) -> Response:
    passed = {"range": call.request.headers["range"]} if "range" in call.request.headers else {}
    found = await call.control.host.r2_get(_bucket(call), _key(call), passed)
    if found.status_code == 404:
        await found.aclose()
        raise ApiError(404, 10007, "The specified key does not exist.")
    if found.is_error:
        await found.aclose()
        raise HostError(f"GET of an object: {found.status_code}")
    headers = {name: found.headers[name] for name in _ANSWERED if name in found.headers}
    return StreamingResponse(_body(found), found.status_code, headers)


async def delete(call: Call) -> Response:
    await call.control.host.r2_delete(_bucket(call), _key(call))
    return envelope.ok({"key": _key(call)})


async def listing(call: Call) -> Response:
    size = call.number("per_page", 1000, high=1000)
    params = {"limit": str(size)}
    params |= {name: call.query(name) for name in ("prefix", "cursor", "delimiter") if call.query(name)}
    found = await call.control.host.r2_list(_bucket(call), params)
    truncated = bool(found.get("truncated"))
    cursor = found.get("cursor") or ""
    info = {
        "per_page": size,
        "is_truncated": truncated,
        "cursor": cursor,
        "delimited": found.get("delimited_prefixes") or [],
    }
    return envelope.ok(found.get("objects", []), info=info)


def _bucket(call: Call) -> str:
    bucket = require(call, call.state)
    return world.bucket_id(bucket["name"], bucket["jurisdiction"])


def _key(call: Call) -> str:
    key = call.param("key")
    if key in ("", ".", "..") or len(key.encode()) > MAX_KEY_BYTES:
        raise ApiError(400, 10010, f"The key of an object must have 1 to {MAX_KEY_BYTES} bytes, and not be . or ..")
    return key


async def _limited(call: Call) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in call.request.stream():
        size += len(chunk)
        if size > MAX_UPLOAD_BYTES:
            raise ApiError(413, 10063, "The object is too large for this API: use the S3 API.")
        yield chunk


async def _body(found: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in found.aiter_raw():
            yield chunk
    finally:
        await found.aclose()


ROUTES: Table = (
    ("GET", f"{BUCKET}/objects", listing),
    ("PUT", f"{BUCKET}/objects/{{key:rest}}", put),
    ("GET", f"{BUCKET}/objects/{{key:rest}}", get),
    ("DELETE", f"{BUCKET}/objects/{{key:rest}}", delete),
)
