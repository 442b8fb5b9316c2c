"""A data plane in memory, with the Node host's admin protocol: for tests of the control plane alone."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx


@dataclass
class FakeHost(httpx.AsyncBaseTransport):
    """``worlds`` are all that were accepted. ``reject_world`` refuses worlds that hold the text, ``reject_version``
    every version, with these words; ``delay`` holds a push, in seconds; ``down`` refuses connections."""

    worlds: list[dict[str, Any]] = field(default_factory=list)
    validated: list[dict[str, Any]] = field(default_factory=list)
    kv: dict[tuple[str, str], tuple[bytes, str | None]] = field(default_factory=dict)
    objects: dict[tuple[str, str], tuple[bytes, dict[str, str]]] = field(default_factory=dict)
    reject_world: str = ""
    reject_version: str = ""
    down: bool = False
    delay: float = 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("refused")
        body = await request.aread()
        parts = request.url.raw_path.decode().split("?")[0].strip("/").split("/")
        if parts[0] == "kv":
            return self._kv(request, parts, body)
        if parts[0] == "r2":
            return self._r2(request, parts, body)
        if parts[0] == "health":
            return httpx.Response(200, json={"ok": True, "generation": len(self.worlds), "workerd_pid": 1})
        given = json.loads(body)
        if parts[0] == "validate":
            return self._validate(given)
        return await self._world(given)

    def _validate(self, given: dict[str, Any]) -> httpx.Response:
        self.validated.append(given)
        if self.reject_version:
            return httpx.Response(422, json={"error": {"code": 10021, "message": self.reject_version}})
        return httpx.Response(200, json={"startup_time_ms": 7, "handlers": ["fetch"]})

    async def _world(self, given: dict[str, Any]) -> httpx.Response:
        await asyncio.sleep(self.delay)
        if self.reject_world and self.reject_world in json.dumps(given):
            return httpx.Response(422, json={"error": {"code": 10021, "message": f"refused: {self.reject_world}"}})
        self.worlds.append(given)
        return httpx.Response(200, json={"generation": given["generation"], "reloaded": True})

    def _kv(self, request: httpx.Request, parts: list[str], body: bytes) -> httpx.Response:
        namespace = parts[1]
        if parts[2] == "keys":
            names = sorted(key for ns, key in self.kv if ns == namespace)
            names = [name for name in names if name.startswith(request.url.params.get("prefix", ""))]
            return httpx.Response(
                200, json={"keys": [{"name": n} for n in names], "list_complete": True, "cursor": None}
            )
        place = (namespace, unquote(parts[3]))
        if request.method == "PUT":
            self.kv[place] = (body, request.headers.get("x-kv-metadata"))
            return httpx.Response(200)
        if request.method == "DELETE":
            self.kv.pop(place, None)
            return httpx.Response(200)
        if place not in self.kv:
            return httpx.Response(404)
        value, metadata = self.kv[place]
        return httpx.Response(200, content=value, headers={"x-kv-metadata": metadata} if metadata else {})

    def _r2(self, request: httpx.Request, parts: list[str], body: bytes) -> httpx.Response:
        bucket = parts[1]
        if len(parts) == 3:
            keys = sorted(key for b, key in self.objects if b == bucket)
            return httpx.Response(200, json={"objects": [{"key": key} for key in keys], "truncated": False})
        place = (bucket, unquote(parts[3]))
        if request.method == "PUT":
            self.objects[place] = (body, dict(request.headers))
            return httpx.Response(200, json={"key": place[1], "size": len(body)})
        if request.method == "DELETE":
            self.objects.pop(place, None)
            return httpx.Response(200)
        if place not in self.objects:
            return httpx.Response(404)
        content, headers = self.objects[place]
        # A stream that is not read yet, as from a socket.
        type_ = {"content-type": headers.get("content-type", "")}
        return httpx.Response(200, stream=httpx.ByteStream(content), headers=type_)
