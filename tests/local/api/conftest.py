"""The control plane in this process, over a data plane in memory: no ports."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import uuid
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from starlette.applications import Starlette

from sluiceway.local.api.app import ApiConfig, Control, routes
from sluiceway.local.api.config import zone_id
from sluiceway.local.api.host_client import HostClient
from sluiceway.local.runtime_file import ACCOUNT_ID
from sluiceway.local.store import Json, Store
from tests.local.api.fake_host import FakeHost

T = TypeVar("T")
TOKEN = "token-of-tests"
ZONE = zone_id("sluiceway.test")
CODE = "export default { fetch() { return new Response('hi') } }"


@dataclass
class Api:
    """Calls below /client/v4. ``a`` in a path stands for the account: ``/a/queues``."""

    data: Path
    host: FakeHost = field(default_factory=FakeHost)

    def __post_init__(self) -> None:
        self.runner = asyncio.Runner()
        self.open()

    def open(self) -> None:
        """Starts (again) on the data that is there."""
        ids = itertools.count(self._first_id())
        config = ApiConfig(
            TOKEN,
            self.data / "modules",
            now=lambda: datetime(2026, 7, 1, 12, tzinfo=UTC),
            new_id=lambda: uuid.uuid5(uuid.NAMESPACE_URL, str(next(ids))),
        )
        self.store = Store.open(self.data / "state.sqlite")
        self.control = Control(self.store, HostClient("http://host", "t", transport=self.host), config)
        app = Starlette(routes=routes(self.control))
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://api/client/v4")

    def _first_id(self) -> int:
        return uuid.uuid4().int

    def close(self) -> None:
        self.run(self.client.aclose())
        self.run(self.control.host.aclose())
        self.store.close()

    def run(self, work: Coroutine[Json, Json, T]) -> T:
        return self.runner.run(work)

    async def send(self, method: str, path: str, body: object = None, **options: Json) -> httpx.Response:
        path = f"/accounts/{ACCOUNT_ID}{path[2:]}" if path.startswith("/a/") else path
        path = path.replace("{z}", ZONE)
        headers = {"authorization": f"Bearer {TOKEN}", **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        return await self.client.request(method, path, headers=headers, **options)

    def __call__(self, method: str, path: str, body: object = None, **options: Json) -> httpx.Response:
        return self.run(self.send(method, path, body, **options))

    def ok(self, method: str, path: str, body: object = None, **options: Json) -> Json:
        """The result of a call that must succeed."""
        response = self(method, path, body, **options)
        assert response.is_success, response.text
        return response.json()["result"]

    def refused(self, method: str, path: str, body: object = None, **options: Json) -> tuple[int, int]:
        """(status, code) of a call that must fail, in the envelope of the API."""
        answer = self(method, path, body, **options)
        assert not answer.is_success, answer.text
        document = answer.json()
        assert document["success"] is False and document["errors"][0]["message"]
        return answer.status_code, document["errors"][0]["code"]

    def worker(self, name: str = "chat", **fields: Json) -> str:
        return str(self.ok("POST", "/a/workers/workers", {"name": name, **fields})["id"])

    def version(self, worker: str = "chat", **fields: Json) -> dict[str, Json]:
        """Uploads a version by the beta API; ``code`` and every field of the body may be given."""
        answer = self("POST", f"/a/workers/workers/{worker}/versions", version_body(**fields))
        assert answer.is_success, answer.text
        result: dict[str, Json] = answer.json()["result"]
        return result

    def deploy(self, worker: str, *shares: tuple[str, float]) -> dict[str, Json]:
        body = {"strategy": "percentage", "versions": [{"version_id": v, "percentage": p} for v, p in shares]}
        result: dict[str, Json] = self.ok("POST", f"/a/workers/scripts/{worker}/deployments", body)
        return result

    def put_script(self, name: str = "chat", code: str = CODE, **metadata: Json) -> httpx.Response:
        return self("PUT", f"/a/workers/scripts/{name}", files=multipart(code, metadata))

    def upload(self, name: str = "chat", code: str = CODE, **metadata: Json) -> httpx.Response:
        return self("POST", f"/a/workers/scripts/{name}/versions", files=multipart(code, metadata))


def version_body(code: str = CODE, **fields: Json) -> dict[str, Json]:
    module = {
        "name": "index.js",
        "content_type": "application/javascript+module",
        "content_base64": base64.b64encode(code.encode()).decode(),
    }
    return {"main_module": "index.js", "compatibility_date": "2026-07-01", "modules": [module], **fields}


def multipart(code: str, metadata: dict[str, Json]) -> dict[str, tuple[str | None, bytes, str]]:
    document = {"main_module": "index.js", "compatibility_date": "2026-07-01", **metadata}
    return {
        "metadata": (None, json.dumps(document).encode(), "application/json"),
        "index.js": ("index.js", code.encode(), "application/javascript+module"),
    }


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    api = Api(tmp_path)
    yield api
    api.close()
    api.runner.close()
