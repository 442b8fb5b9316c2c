"""The API over the real data plane: what is deployed by a call is what answers a request."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from sluiceway.local import lifecycle
from sluiceway.progress import Progress
from tests.local.api.conftest import ZONE, version_body
from tests.local.conftest import LocalStage
from tests.node import NODE

pytestmark = pytest.mark.long

_CODE = """
import {{ DurableObject }} from "cloudflare:workers";
export class Counter extends DurableObject {{
  async add() {{ const n = (await this.ctx.storage.get("n") ?? 0) + 1; await this.ctx.storage.put("n", n); return n; }}
}}
export default {{
  async fetch(request, env) {{
    const path = new URL(request.url).pathname;
    if (path === "/count") return Response.json(await env.COUNTER.getByName("one").add());
    const names = Object.keys(env).sort();
    if (path === "/env") return Response.json({{ key: env.KEY, version: env.VERSION.id, names }});
    return new Response({text!r});
  }}
}}
"""
_EXPORTS = {"Counter": {"type": "durable-object", "storage": "sqlite"}}


@dataclass
class Remote:
    """Calls of a stage's API, and requests to its Workers."""

    stage: LocalStage

    def ok(self, method: str, path: str, body: object = None) -> dict[str, str]:
        answer = self.send(method, path, body)
        assert answer.is_success, answer.text
        result: dict[str, str] = answer.json()["result"]
        return result

    def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        runtime = self.stage.runtime
        url = runtime.api_url + path.replace("/a/", f"/accounts/{runtime.account_id}/", 1)
        headers = {"authorization": f"Bearer {self.stage.token}"}
        return httpx.request(method, url, json=body, headers=headers, trust_env=False, timeout=60)

    def get(self, host: str, path: str = "/") -> httpx.Response:
        return httpx.get(self.stage.runtime.front_url + path, headers={"host": host}, trust_env=False, timeout=30)

    def ship(self, name: str, *texts: str, bindings: list[dict[str, object]] | None = None) -> list[str]:
        """A Worker with a version for each text; the first serves alone."""
        self.ok("POST", "/a/workers/workers", {"name": name, "subdomain": {"enabled": True}})
        bound = [
            {"name": "COUNTER", "type": "durable_object_namespace", "class_name": "Counter"},
            {"name": "KEY", "type": "secret_text", "text": "hunter2"},
            {"name": "VERSION", "type": "version_metadata"},
            *(bindings or []),
        ]
        ids = []
        for text in texts:
            body = version_body(code=_CODE.format(text=text), bindings=bound, exports=_EXPORTS)
            ids.append(self.ok("POST", f"/a/workers/workers/{name}/versions", body)["id"])
        self.deploy(name, (ids[0], 100))
        return ids

    def deploy(self, name: str, *shares: tuple[str, int]) -> None:
        body = {"strategy": "percentage", "versions": [{"version_id": v, "percentage": p} for v, p in shares]}
        self.ok("POST", f"/a/workers/scripts/{name}/deployments", body)


@pytest.fixture(scope="module")
def remote(local_stage: LocalStage) -> Remote:
    return Remote(local_stage)


def test_a_split_divides_requests(remote: Remote) -> None:
    first, second = remote.ship("rh-split", "one", "two")
    assert {remote.get("rh-split.local.workers.dev").text for _ in range(10)} == {"one"}
    remote.deploy("rh-split", (first, 50), (second, 50))
    seen = Counter(remote.get("rh-split.local.workers.dev").text for _ in range(100))
    assert 20 < seen["one"] < 80 and seen["one"] + seen["two"] == 100


def test_bindings_arrive_and_objects_survive_a_new_version(remote: Remote) -> None:
    namespace = remote.ok("POST", "/a/storage/kv/namespaces", {"title": "rh-cache"})["id"]
    bindings: list[dict[str, object]] = [
        {"name": "AI", "type": "ai"},
        {"name": "CACHE", "type": "kv_namespace", "namespace_id": namespace},
        {"name": "METRICS", "type": "analytics_engine", "dataset": "rh"},
        {"name": "RATE_LIMIT", "type": "ratelimit", "namespace_id": "1001", "simple": {"limit": 5, "period": 60}},
    ]
    first, second = remote.ship("rh-env", "one", "two", bindings=bindings)
    env = remote.get("rh-env.local.workers.dev", "/env").json()
    assert env["key"] == "hunter2" and env["version"] == first
    assert env["names"] == ["AI", "CACHE", "COUNTER", "KEY", "METRICS", "RATE_LIMIT", "VERSION"]
    assert [remote.get("rh-env.local.workers.dev", "/count").json() for _ in range(2)] == [1, 2]
    remote.deploy("rh-env", (second, 100))
    assert remote.get("rh-env.local.workers.dev", "/count").json() == 3
    remote.ok("DELETE", f"/a/storage/kv/namespaces/{namespace}")
    assert "CACHE" not in remote.get("rh-env.local.workers.dev", "/env").json()["names"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("export default {", "SyntaxError"),
        ("throw new Error('at start'); export default { fetch() {} }", "at start"),
        ("import './missing.js'; export default { fetch() {} }", "missing"),
    ],
)
def test_code_that_does_not_start_is_refused_and_the_old_one_serves_on(remote: Remote, code: str, words: str) -> None:
    name = "rh-broken"
    if remote.send("GET", f"/a/workers/workers/{name}").status_code == 404:
        remote.ship(name, "good")
    answer = remote.send("POST", f"/a/workers/workers/{name}/versions", version_body(code=code, exports=_EXPORTS))
    assert answer.status_code == 400
    error = answer.json()["errors"][0]
    assert error["code"] == 10021 and words in error["message"]
    assert remote.get(f"{name}.local.workers.dev").text == "good"


def test_routes_and_custom_domains_reach_their_worker(remote: Remote) -> None:
    remote.ship("rh-domain", "domain")
    remote.ship("rh-route", "route")
    domain = {"hostname": "rh.sluiceway.test", "service": "rh-domain", "zone_id": ZONE}
    remote.ok("PUT", "/a/workers/domains", domain)
    assert remote.get("rh.sluiceway.test").text == "domain"
    route = remote.ok(
        "POST", f"/zones/{ZONE}/workers/routes", {"pattern": "rh.sluiceway.test/r*", "script": "rh-route"}
    )
    assert remote.get("rh.sluiceway.test", "/r/x").text == "route"
    assert remote.get("rh.sluiceway.test", "/x").text == "domain"
    moved = {"pattern": "rh.sluiceway.test/r*", "script": "rh-domain"}
    remote.ok("PUT", f"/zones/{ZONE}/workers/routes/{route['id']}", moved)
    assert remote.get("rh.sluiceway.test", "/r/x").text == "domain"


@pytest.fixture
def own_stage(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    lifecycle.stop(tmp_path)


def test_a_killed_stage_comes_back_as_it_was(own_stage: Path) -> None:
    def start() -> Remote:
        runtime = lifecycle.start(own_stage, front_port=0, api_port=0, node=NODE, progress=Progress())
        return Remote(LocalStage(own_stage, runtime))

    remote = start()
    first, second = remote.ship("killed", "one", "two")
    remote.deploy("killed", (first, 0), (second, 100))
    assert remote.get("killed.local.workers.dev", "/count").json() == 1
    os.kill(remote.stage.runtime.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while lifecycle.read_runtime(own_stage) and time.monotonic() < deadline:
        time.sleep(0.05)
    again = start()
    assert again.get("killed.local.workers.dev").text == "two"
    assert again.get("killed.local.workers.dev", "/count").json() == 2
    assert again.ok("GET", f"/a/workers/workers/killed/versions/{first}")["id"] == first
