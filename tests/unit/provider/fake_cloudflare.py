"""A Cloudflare in memory for these tests: the calls of the provider, with the API's real habits.

It sorts bindings by type, fills in defaults, shouts bucket locations, hides secret texts and uses
Cloudflare's own error codes. ``faults`` makes the next calls fail.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = Any
Handler = Callable[[Request], Awaitable[Response]]


def _ok(result: Json, status: int = 200) -> Response:
    return JSONResponse({"success": True, "errors": [], "messages": [], "result": result}, status)


def _no(status: int, code: int, message: str) -> Response:
    return JSONResponse(
        {"success": False, "errors": [{"code": code, "message": message}], "messages": [], "result": None}, status
    )


@dataclass
class FakeCloudflare:
    """``calls`` are (method, path, JSON body) in order."""

    calls: list[tuple[str, str, Json]] = field(default_factory=list)
    faults: list[tuple[str, int, int, str]] = field(default_factory=list)
    tables: dict[str, dict[str, Json]] = field(default_factory=dict)
    dns: list[dict[str, str]] = field(default_factory=list)
    token_id: str = "70c0ffee70c0ffee70c0ffee70c0ffee"
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def table(self, name: str) -> dict[str, Json]:
        return self.tables.setdefault(name, {})

    def writes(self) -> list[str]:
        return [f"{method} {path}" for method, path, _ in self.calls if method != "GET"]

    def new_id(self) -> str:
        return hashlib.md5(str(next(self.numbers)).encode(), usedforsecurity=False).hexdigest()

    def app(self) -> Starlette:
        prefix = "/client/v4"
        routes = [
            Route(prefix + path, self._seen(handler), methods=methods) for path, methods, handler in self._handlers()
        ]
        return Starlette(routes=[*routes, Route("/{rest:path}", self._seen(self._lost), methods=_ALL)])

    def _seen(self, handler: Handler) -> Handler:
        async def seen(request: Request) -> Response:
            path = request.scope["raw_path"].decode().removeprefix("/client/v4")
            raw = await request.body()
            is_json = raw and "json" in request.headers.get("content-type", "")
            self.calls.append((request.method, path, json.loads(raw) if is_json else None))
            for index, (match, status, code, message) in enumerate(self.faults):
                if match in f"{request.method} {path}":
                    del self.faults[index]
                    return _no(status, code, message)
            return await handler(request)

        return seen

    def _handlers(self) -> list[tuple[str, list[str], Handler]]:
        account = "/accounts/{a}"
        crud = self._crud
        return [
            *crud(f"{account}/storage/kv/namespaces", "kv", {"supports_url_encoding": True}, missing=10013),
            (f"{account}/storage/kv/namespaces/{{n}}/values/{{key:path}}", _ALL, self._kv_value),
            (f"{account}/storage/kv/namespaces/{{n}}/metadata/{{key:path}}", ["GET"], self._kv_metadata),
            *crud(f"{account}/queues", "queues", {"producers": [], "consumers": []}, key="queue_id", missing=10003),
            *crud(f"{account}/ai-gateway/gateways", "gateways", {"is_default": False, "dlp": None}, missing=7002),
            *crud("/zones/{z}/workers/routes", "routes", {}, missing=10009, unique=("pattern", 10020, 409)),
            (f"{account}/workers/workers", ["POST"], self._worker_new),
            (f"{account}/workers/workers/{{id}}", _ALL, self._worker),
            (f"{account}/workers/workers/{{id}}/versions", ["POST", "GET"], self._version_new),
            (f"{account}/workers/workers/{{id}}/versions/{{v}}", ["GET"], self._version),
            *crud(f"{account}/workers/scripts/{{s}}/deployments", "deployments", {"source": "api"}, missing=10214),
            (f"{account}/workers/scripts/{{s}}/schedules", ["GET", "PUT"], self._schedules),
            (f"{account}/workers/scripts/{{s}}/subdomain", _ALL, self._subdomain),
            (f"{account}/workers/domains", ["PUT", "GET"], self._domains),
            (f"{account}/workers/domains/{{id}}", _ALL, self._domain),
            (f"{account}/r2/buckets", ["POST"], self._bucket_new),
            (f"{account}/r2/buckets/{{name}}", _ALL, self._bucket),
            (f"{account}/r2/buckets/{{name}}/lifecycle", ["GET", "PUT"], self._lifecycle),
            ("/zones/{z}/rulesets", ["POST"], self._ruleset_new),
            ("/zones/{z}/rulesets/phases/{phase}/entrypoint", ["GET"], self._entry_point),
            ("/zones/{z}/rulesets/{id}", _ALL, self._ruleset),
            ("/zones/{z}/dns_records", ["GET"], self._dns),
            ("/user/tokens/verify", ["GET"], self._verify),
            (f"{account}/tokens/verify", ["GET"], self._verify),
        ]

    def _crud(
        self,
        path: str,
        name: str,
        defaults: Json,
        *,
        missing: int,
        key: str = "id",
        unique: tuple[str, int, int] | None = None,
    ) -> list[tuple[str, list[str], Handler]]:
        async def many(request: Request) -> Response:
            table = self.table(name)
            if request.method == "GET":
                return _ok(list(table.values()))
            body = await request.json()
            if unique and any(item[unique[0]] == body[unique[0]] for item in table.values()):
                return _no(unique[2], unique[1], f"workers.api.error.duplicate_{name}")
            item = {**defaults, "created_on": "2026-11-01T00:00:00Z", **body}
            item.setdefault(key, self.new_id())
            table[item[key]] = item
            return _ok(item)

        async def one(request: Request) -> Response:
            table, rid = self.table(name), request.path_params["id"]
            if rid not in table:
                return _no(404, missing, f"{name} not found")
            if request.method == "PUT":
                table[rid] = {**table[rid], **await request.json()}
            if request.method == "DELETE":
                return _ok(table.pop(rid))
            return _ok(table[rid])

        return [(path, ["GET", "POST"], many), (path + "/{id}", _ALL, one)]

    async def _lost(self, request: Request) -> Response:
        return _no(404, 7003, f"Could not route to {request.url.path}, perhaps your object identifier is invalid?")

    async def _kv_value(self, request: Request) -> Response:
        values, key = self.table("values"), f"{request.path_params['n']}/{request.path_params['key']}"
        if request.method == "PUT":
            form = await request.form()
            values[key] = {"value": form["value"], "metadata": json.loads(str(form.get("metadata") or "null"))}
            return _ok(None)
        if key not in values:
            return _no(404, 10009, "get: 'key not found'")
        if request.method == "DELETE":
            values.pop(key)
            return _ok(None)
        return Response(values[key]["value"], media_type="application/octet-stream")

    async def _kv_metadata(self, request: Request) -> Response:
        found = self.table("values").get(f"{request.path_params['n']}/{request.path_params['key']}")
        return _ok(found["metadata"]) if found else _no(404, 10009, "get: 'key not found'")

    async def _worker_new(self, request: Request) -> Response:
        return self._worker_put(self.new_id(), await request.json())

    def _worker_put(self, rid: str, body: Json) -> Response:
        observability = {"logs": {"enabled": True, "invocation_logs": True}, **body.get("observability", {})}
        url = f"https://{body['name']}.fake.workers.dev"
        self.table("workers")[rid] = {
            **body,
            "id": rid,
            "observability": observability,
            "subdomain": {**body["subdomain"], "url": url},
            "references": {"queues": [], "domains": []},
            "updated_on": f"2026-11-01T00:00:{next(self.numbers):02}Z",
        }
        return _ok(self.table("workers")[rid])

    async def _worker(self, request: Request) -> Response:
        rid = request.path_params["id"]
        if rid not in self.table("workers"):
            return _no(404, 10007, "This Worker does not exist on your account.")
        if request.method == "PUT":
            return self._worker_put(rid, await request.json())
        return _ok(self.table("workers").pop(rid) if request.method == "DELETE" else self.table("workers")[rid])

    async def _version_new(self, request: Request) -> Response:
        versions = self.table("versions")
        if request.method == "GET":
            return _ok(sorted(versions.values(), key=lambda item: -item["number"]))
        body = await request.json()
        if any("boom" in binding.get("text", "") for binding in body.get("bindings", [])):
            return _no(400, 10021, f"Uncaught Error: {body['bindings'][0].get('text')} at index.js:1")
        number = len(versions) + 1
        tag = (body.get("migrations") or {}).get("new_tag") or (
            versions and list(versions.values())[-1]["migration_tag"]
        )
        version = {
            **{key: item for key, item in body.items() if key != "migrations"},
            "bindings": sorted(body.get("bindings", []), key=lambda item: (item["type"], item["name"])),
            "id": f"0000{number:04}-0000-4000-8000-{self.new_id()[:12]}",
            "number": number,
            "usage_model": "standard",
            "migration_tag": tag or None,
            "placement": {},
            "source": "api",
            "startup_time_ms": 3,
            "created_on": "2026-11-01T00:00:00Z",
        }
        versions[version["id"]] = version
        return _ok(_public(version, modules=False))

    async def _version(self, request: Request) -> Response:
        found = self.table("versions").get(request.path_params["v"])
        if not found:
            return _no(404, 10212, "version not found")
        return _ok(_public(found, modules=request.query_params.get("include") == "modules"))

    async def _schedules(self, request: Request) -> Response:
        script = request.path_params["s"]
        if request.method == "PUT":
            self.table("crons")[script] = [
                {**item, "created_on": "2026-11-01T00:00:00Z", "modified_on": f"{next(self.numbers)}"}
                for item in reversed(await request.json())
            ]
        return _ok({"schedules": self.table("crons").get(script, [])})

    async def _subdomain(self, request: Request) -> Response:
        script, table = request.path_params["s"], self.table("subdomains")
        if request.method == "POST":
            table[script] = {"previews_enabled": True, **await request.json()}
        if request.method == "DELETE":
            table[script] = {"enabled": False, "previews_enabled": False}
        return _ok(table.get(script, {"enabled": False, "previews_enabled": False}))

    async def _domains(self, request: Request) -> Response:
        table = self.table("domains")
        if request.method == "GET":
            host = request.query_params.get("hostname")
            return _ok([item for item in table.values() if host in (None, item["hostname"])])
        body = await request.json()
        if any(record["name"] == body["hostname"] for record in self.dns):
            return _no(409, 100117, "Hostname already has externally managed DNS records")
        rid = hashlib.md5(body["hostname"].encode(), usedforsecurity=False).hexdigest()
        table[rid] = {"environment": "production", "zone_name": "fake.test", "cert_id": "cert", **body, "id": rid}
        return _ok(table[rid])

    async def _domain(self, request: Request) -> Response:
        table, rid = self.table("domains"), request.path_params["id"]
        if rid not in table:
            return _no(404, 100114, "domain not found")
        return _ok(table.pop(rid) if request.method == "DELETE" else table[rid])

    async def _dns(self, request: Request) -> Response:
        return _ok([record for record in self.dns if record["name"] == request.query_params["name"]])

    async def _verify(self, request: Request) -> Response:
        return _ok({"id": self.token_id, "status": "active"})

    async def _bucket_new(self, request: Request) -> Response:
        body = await request.json()
        key = f"{request.headers.get('cf-r2-jurisdiction', 'default')}/{body['name']}"
        if key in self.table("buckets"):
            return _no(409, 10004, "The bucket you tried to create already exists, and you own it.")
        self.table("buckets")[key] = {
            "name": body["name"],
            "creation_date": "2026-11-01T00:00:00Z",
            "location": body.get("locationHint", "weur").upper(),
            "jurisdiction": request.headers.get("cf-r2-jurisdiction", "default"),
            "storage_class": body.get("storageClass", "Standard"),
        }
        return _ok(self.table("buckets")[key])

    def _find_bucket(self, request: Request) -> str | None:
        key = f"{request.headers.get('cf-r2-jurisdiction', 'default')}/{request.path_params['name']}"
        return key if key in self.table("buckets") else None

    async def _bucket(self, request: Request) -> Response:
        key, buckets = self._find_bucket(request), self.table("buckets")
        if key is None:
            return _no(404, 10006, "The specified bucket does not exist.")
        if request.method == "PATCH":
            buckets[key]["storage_class"] = request.headers["cf-r2-storage-class"]
        return _ok(buckets.pop(key) if request.method == "DELETE" else buckets[key])

    async def _lifecycle(self, request: Request) -> Response:
        key = self._find_bucket(request)
        if key is None:
            return _no(404, 10006, "The specified bucket does not exist.")
        if request.method == "PUT":
            self.table("lifecycles")[key] = await request.json()
        return _ok(self.table("lifecycles").get(key, {"rules": []}))

    def _ruleset_put(self, rid: str, zone: str, body: Json) -> Response:
        rules = [
            {"id": self.new_id(), "version": "1", "last_updated": "2026-11-01T00:00:00Z", **rule}
            for rule in body.get("rules", [])
        ]
        self.table("rulesets")[rid] = {**body, "id": rid, "zone": zone, "version": "1", "rules": rules}
        return _ok(self.table("rulesets")[rid])

    async def _ruleset_new(self, request: Request) -> Response:
        body, zone = await request.json(), request.path_params["z"]
        if any(item["zone"] == zone and item["phase"] == body["phase"] for item in self.table("rulesets").values()):
            return _no(400, 20217, f"exceeded maximum number of zone rulesets for phase {body['phase']}")
        return self._ruleset_put(self.new_id(), zone, body)

    async def _entry_point(self, request: Request) -> Response:
        zone, phase = request.path_params["z"], request.path_params["phase"]
        for item in self.table("rulesets").values():
            if item["zone"] == zone and item["phase"] == phase:
                return _ok(item)
        return _no(404, 10003, f"could not find entrypoint ruleset in the {phase} phase")

    async def _ruleset(self, request: Request) -> Response:
        rid, table = request.path_params["id"], self.table("rulesets")
        if rid not in table:
            return _no(404, 10003, "could not find ruleset")
        if request.method == "PUT":
            return self._ruleset_put(rid, request.path_params["z"], await request.json())
        return _ok(table.pop(rid) if request.method == "DELETE" else table[rid])


_ALL = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def _public(version: Json, *, modules: bool) -> Json:
    """A version as the API shows it: without secret texts, and without code unless asked."""
    shown = {**version, "bindings": [_masked(binding) for binding in version["bindings"]]}
    if not modules:
        shown.pop("modules", None)
    return shown


def _masked(binding: Json) -> Json:
    return {key: item for key, item in binding.items() if binding["type"] != "secret_text" or key != "text"}
