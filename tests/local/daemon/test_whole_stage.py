"""A Worker put on the stage through the API, which asks a model through its AI binding and is watched doing it."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sluiceway.local import lifecycle
from sluiceway.local.runtime_file import Runtime
from tests.local.daemon.conftest import start, until

pytestmark = pytest.mark.long

WORKER = """
export default {
  async fetch(request, env) {
    const { prompt, stream, gateway } = await request.json();
    console.log("asked", prompt.length);
    env.METRICS.writeDataPoint({ blobs: ["asked"], doubles: [prompt.length], indexes: ["t"] });
    const inputs = { messages: [{ role: "user", content: prompt }], stream };
    try {
      const answer = await env.AI.run("@cf/zai-org/glm-4.7-flash", inputs, gateway ? { gateway } : {});
      if (stream) return new Response(answer, { headers: { "content-type": "text/event-stream" } });
      return new Response(answer.choices[0].message.content);
    } catch (error) {
      return new Response(error.message, { status: 502 });
    }
  },
};
"""
BINDINGS = [{"name": "AI", "type": "ai"}, {"name": "METRICS", "type": "analytics_engine", "dataset": "d"}]


class Stage:
    """A stage with the Worker on it."""

    def __init__(self, data: Path, runtime: Runtime) -> None:
        self.data = data
        self.runtime = runtime
        self.client = httpx.Client(headers={"authorization": f"Bearer {lifecycle.read_token(data)}"}, timeout=30)
        self.account = f"{runtime.api_url}/accounts/{runtime.account_id}"

    def deploy(self) -> None:
        metadata = {"main_module": "index.js", "compatibility_date": "2026-07-01", "bindings": BINDINGS}
        files = {
            "metadata": (None, json.dumps(metadata), "application/json"),
            "index.js": ("index.js", WORKER, "application/javascript+module"),
        }
        answer = self.client.put(f"{self.account}/workers/scripts/probe", files=files)
        assert answer.status_code == 200, answer.text

    def ask(self, prompt: str, **more: object) -> httpx.Response:
        return httpx.post(self.runtime.front_url, json={"prompt": prompt, **more}, timeout=30)

    def result(self, path: str) -> Any:  # noqa: ANN401 - whatever JSON came
        return self.client.get(f"{self.runtime.api_url}/_local/{path}").json()["result"]


@contextmanager
def started(data: Path) -> Iterator[Stage]:
    stage = Stage(data, start(data))
    try:
        yield stage
    finally:
        stage.client.close()
        lifecycle.stop(data)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with started(tmp_path_factory.mktemp("whole") / "local") as found:
        found.deploy()
        yield found


def test_the_worker_answers_with_what_the_model_said(stage: Stage) -> None:
    assert stage.ask("repeat after me: 你好 🦊").text == "你好 🦊"
    call = stage.result("ai/calls")[-1]
    assert (call["via"], call["status"], call["model"]) == ("binding", "ok", "@cf/zai-org/glm-4.7-flash")


def test_what_the_worker_logs_and_measures_can_be_read(stage: Stage) -> None:
    prompt = "#count 1" + " " * 100  # a length that no other test has
    assert stage.ask(prompt).text == "1"

    def seen(events: list[dict[str, Any]]) -> bool:
        measured = any(event.get("doubles") == [len(prompt)] for event in events)
        logs = [log for event in events for log in event.get("logs", ())]
        return measured and any(log["message"] == ["asked", len(prompt)] for log in logs)

    assert until(lambda: seen(stage.result("events")["events"]))
    assert seen([json.loads(line) for line in lifecycle.logs(stage.data, which="workers")])


def test_gw_17_a_client_who_leaves_the_worker_stops_the_model(stage: Stage) -> None:
    asked = {"prompt": "#delay 100 #count 100", "stream": True}
    with httpx.stream("POST", stage.runtime.front_url, json=asked, timeout=30) as response:
        lines = response.iter_lines()
        for _ in range(6):
            next(lines)
    assert until(lambda: stage.result("ai/calls")[-1]["cancelled"])
    assert stage.result("ai/calls")[-1]["tokens_sent"] < 40


def test_a_call_through_a_gateway_needs_the_gateway(stage: Stage) -> None:
    missing = stage.ask("hi", gateway={"id": "edge"})
    assert (missing.status_code, missing.text[:5]) == (502, "2001:")
    body = {"id": "edge", "cache_ttl": 0, "collect_logs": True, "cache_invalidate_on_update": False,
            "rate_limiting_interval": 0, "rate_limiting_limit": 0, "rate_limiting_technique": "fixed"}  # fmt: skip
    stage.client.post(f"{stage.account}/ai-gateway/gateways", json=body).raise_for_status()
    assert stage.ask("#count 2", gateway={"id": "edge"}).text == "1 2"
    assert stage.result("ai/calls")[-1]["options"]["gateway"] == {"id": "edge"}


def test_calls_of_the_api_are_logged_without_what_they_carry(stage: Stage) -> None:
    stage.client.get(f"{stage.account}/workers/scripts?secret=in-the-query")
    lines = list(lifecycle.logs(stage.data, which="control"))
    assert any("GET /client/v4/accounts/" in line and "/workers/scripts 200" in line for line in lines)
    assert any("PUT /client/v4/accounts/" in line for line in lines)
    assert not any("in-the-query" in line for line in lines)


def test_after_the_host_is_killed_the_worker_is_back_by_itself(stage: Stage) -> None:
    before = lifecycle.require_runtime(stage.data)
    os.kill(before.host_pid, signal.SIGKILL)
    assert until(lambda: (lifecycle.read_runtime(stage.data) or before).host_pid != before.host_pid)
    assert stage.ask("#count 3").text == "1 2 3"


def test_a_stage_whose_code_was_lost_comes_up_and_takes_a_new_deployment(tmp_path: Path) -> None:
    data = tmp_path / "local"
    with started(data) as first:
        first.deploy()
    shutil.rmtree(data / "data" / "modules")
    with started(data) as again:
        assert any("deployed again" in line for line in lifecycle.logs(data, which="control"))
        again.deploy()
        assert again.ask("#count 2").text == "1 2"
