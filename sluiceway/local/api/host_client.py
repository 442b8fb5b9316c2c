"""Client of the Node host that runs workerd: the world, validation, KV and R2 data, crons."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from sluiceway.local.api.errors import HostError, HostRejected
from sluiceway.local.store import Json

# A reload drains running requests for some seconds first, and a first start compiles everything.
_TIMEOUT = httpx.Timeout(60.0, connect=5.0)


@dataclass(frozen=True)
class Stored:
    """A value or object as the host keeps it; ``headers`` are those of the host's answer, lower case."""

    body: bytes
    headers: Mapping[str, str]


class HostClient:
    """Every method raises HostError when the host is away; ``put_world`` and ``validate`` HostRejected."""

    def __init__(self, admin_url: str = "", token: str = "", transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._url = admin_url
        self._token = token
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, transport=transport, trust_env=False)

    def retarget(self, admin_url: str, token: str) -> None:
        """The host was started again, on another port."""
        self._url, self._token = admin_url, token

    async def aclose(self) -> None:
        await self._client.aclose()

    async def health(self) -> dict[str, Json]:
        return _json(await self._call("GET", "/health"))

    async def put_world(self, world: Mapping[str, Json]) -> dict[str, Json]:
        return _judged(await self._call("PUT", "/world", content=json.dumps(world).encode(), type_="application/json"))

    async def put_faults(self, *, s3: bool) -> None:
        """Whether a call of R2's S3 API is to ask first what it meets."""
        body = json.dumps({"s3": s3}).encode()
        _json(await self._call("PUT", "/faults", content=body, type_="application/json"))

    async def validate(self, worker: str, version: Mapping[str, Json]) -> dict[str, Json]:
        """``{"startup_time_ms", "handlers"}`` of a version that starts; HostRejected (10021) of one that doesn't."""
        body = json.dumps({"worker": worker, "version": version}).encode()
        return _judged(await self._call("POST", "/validate", content=body, type_="application/json"))

    async def kv_put(
        self, namespace: str, key: str, body: bytes, metadata: Json = None, options: Mapping[str, int] | None = None
    ) -> None:
        """``options``: ``expiration`` (seconds since 1970) or ``expiration_ttl`` (seconds)."""
        headers = {} if metadata is None else {"x-kv-metadata": quote(json.dumps(metadata, ensure_ascii=False))}
        _json(await self._call("PUT", _kv(namespace, key), content=body, params=options, headers=headers))

    async def kv_get(self, namespace: str, key: str) -> Stored | None:
        return _stored(await self._call("GET", _kv(namespace, key)))

    async def kv_delete(self, namespace: str, key: str) -> None:
        _stored(await self._call("DELETE", _kv(namespace, key)))

    async def kv_keys(self, namespace: str, params: Mapping[str, str]) -> dict[str, Json]:
        return _json(await self._call("GET", f"/kv/{namespace}/keys", params=params))

    async def r2_put(
        self, bucket: str, key: str, body: AsyncIterator[bytes], headers: Mapping[str, str]
    ) -> dict[str, Json]:
        return _json(await self._call("PUT", _r2(bucket, key), content=body, headers=headers))

    async def r2_get(self, bucket: str, key: str, headers: Mapping[str, str]) -> httpx.Response:
        """An open response: 200 or 206 to stream from, or 404. The caller closes it."""
        request = self._request("GET", _r2(bucket, key), headers=headers)
        try:
            return await self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise HostError(f"GET of an object: {error!r}") from error

    async def r2_delete(self, bucket: str, key: str) -> None:
        _stored(await self._call("DELETE", _r2(bucket, key)))

    async def r2_list(self, bucket: str, params: Mapping[str, str]) -> dict[str, Json]:
        return _json(await self._call("GET", f"/r2/{bucket}/objects", params=params))

    def _request(self, method: str, path: str, **options: Json) -> httpx.Request:
        if not self._url:
            raise HostError("the data plane has not started yet")
        headers = {**options.pop("headers", {}), "authorization": f"Bearer {self._token}"}
        if type_ := options.pop("type_", None):
            headers["content-type"] = type_
        return self._client.build_request(method, self._url + path, headers=headers, **options)

    async def _call(self, method: str, path: str, **options: Json) -> httpx.Response:
        request = self._request(method, path, **options)
        try:
            return await self._client.send(request)
        except httpx.HTTPError as error:
            raise HostError(f"{method} {path}: {error!r}") from error


def _kv(namespace: str, key: str) -> str:
    return f"/kv/{namespace}/values/{quote(key, safe='')}"


def _r2(bucket: str, key: str) -> str:
    return f"/r2/{quote(bucket, safe='')}/objects/{quote(key, safe='')}"


def _json(response: httpx.Response) -> dict[str, Json]:
    if response.is_error:
        raise HostError(f"{response.request.method} {response.request.url.path}: {response.status_code}")
    if not response.content:
        return {}
    answer: dict[str, Json] = response.json()
    return answer


def _judged(response: httpx.Response) -> dict[str, Json]:
    if response.status_code == 422:
        error = response.json()["error"]
        raise HostRejected(int(error.get("code") or 10021), str(error.get("message") or "Script startup failed"))
    return _json(response)


def _stored(response: httpx.Response) -> Stored | None:
    if response.status_code == 404:
        return None
    if response.is_error:
        raise HostError(f"{response.request.method} {response.request.url.path}: {response.status_code}")
    return Stored(response.content, dict(response.headers))
