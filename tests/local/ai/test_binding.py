"""``env.AI`` in real workerd, through miniflare's remote proxy, against this stage's Workers AI."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.local.ai.conftest import GLM, KIMI, LLAMA, SECRET, Served
from tests.local.ai.test_chat import chunks, content, streamed_text, user
from tests.node import NODE

PROBE = Path(__file__).with_name("binding_probe.mjs")


def ask(served: Served, questions: list[tuple[str, list[object]]], **more: object) -> list[Any]:
    told = {
        "url": f"{served.url}/_local/ai/{SECRET}",
        "questions": [{"op": op, "args": args} for op, args in questions],
        **more,
    }
    done = subprocess.run(
        [NODE, PROBE], input=json.dumps(told), capture_output=True, text=True, timeout=60, check=False, cwd=PROBE.parent
    )
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def test_a_worker_gets_whole_and_streamed_answers_and_embeddings(served: Served) -> None:
    served.stage.calls.clear()
    asked: dict[str, object] = {"messages": user("你好 🦊"), "max_tokens": 40}
    whole, stream, old, vector, raw = ask(
        served,
        [
            ("run", [GLM, asked]),
            ("run", [GLM, {**asked, "stream": True}]),
            ("run", [LLAMA, {"prompt": "#count 3"}]),
            ("run", ["@cf/baai/bge-m3", {"text": ["a", "b"]}]),
            ("run", [GLM, asked, {"returnRawResponse": True, "extraHeaders": {"x-session-affinity": "u1"}}]),
        ],
    )
    found = chunks(stream["value"]["streamed"])
    assert streamed_text(found) == content(whole["value"])
    assert found[-1]["usage"] == whole["value"]["usage"]
    assert whole["request"]
    assert whole["status"] == 200
    assert old["value"]["response"] == "1 2 3"
    assert vector["value"]["shape"] == [2, 1024]
    assert content(json.loads(raw["value"]["body"])) == content(whole["value"])
    calls = served.stage.calls.recent()
    assert [call.via for call in calls] == ["binding"] * 5
    assert [call.status for call in calls] == ["ok"] * 5
    assert calls[1].streamed
    assert calls[0].inputs == asked
    assert calls[4].headers["x-session-affinity"] == "u1"


def test_errors_reach_the_worker_with_code_name_and_status(served: Served) -> None:
    busy, missing, bad, streamed = ask(
        served,
        [
            ("run", [GLM, {"prompt": "#error 3040"}]),
            ("run", ["@cf/none/such", {"prompt": "x"}]),
            ("run", [GLM, {"messages": []}]),
            ("run", [GLM, {"prompt": "#error 5028", "stream": True}]),
        ],
    )
    assert busy["error"] == {"name": "AiError", "message": "3040: Capacity temporarily exceeded, please try again."}
    assert (busy["status"], busy["code"]) == (429, 3040)
    assert missing["error"]["message"] == "5007: No such model @cf/none/such or task"
    assert (missing["status"], bad["status"], streamed["status"]) == (400, 400, 410)
    assert bad["error"]["message"].startswith("5006: ")


def test_gateway_calls_name_the_gateway_and_can_be_looked_up(served: Served) -> None:
    gateway = {"gateway": {"id": "edge", "skipCache": True, "metadata": {"tenant": "a"}}}
    first, url, log, steps, models = ask(
        served,
        [
            ("run", [KIMI, {"messages": user("hi")}, gateway]),
            ("getUrl", ["edge", "workers-ai"]),
            ("logOf", [GLM, {"messages": user("hi")}, gateway]),
            ("gatewayRun", ["edge", [step("@cf/none/such", {"prompt": "x"}), step(LLAMA, {"prompt": "#count 2"})]]),
            ("models", [{"search": "kimi"}]),
        ],
    )
    assert first["log"]
    call = next(call for call in served.stage.calls.recent() if call.log_id == first["log"])
    assert call.options["gateway"] == gateway["gateway"]
    assert url["value"].startswith(served.url)
    assert log["value"]["model"] == GLM
    assert log["value"]["tokens_out"] > 0
    assert (steps["value"]["status"], steps["value"]["step"]) == (200, "1")
    assert json.loads(steps["value"]["body"])["result"]["response"] == "1 2"
    assert [each["name"] for each in models["value"]] == [KIMI, "@cf/moonshotai/kimi-k2.7-code"]
    through_url = served.client.post(f"{url['value']}/v1/chat/completions", json={"model": GLM, "messages": user("a")})
    assert through_url.status_code == 200


def step(model: str, query: dict[str, object]) -> dict[str, object]:
    return {"provider": "workers-ai", "endpoint": model, "headers": {}, "query": query}


def test_a_gateway_that_does_not_exist_is_an_error(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.stage, "gateway_exists", lambda name: name == "edge")
    there, not_there = ask(
        served,
        [("run", [GLM, {"prompt": "x"}, {"gateway": {"id": name}}]) for name in ("edge", "other")],
    )
    assert "value" in there
    assert not_there["error"]["message"].startswith("2001: ")


def test_gw_17_chunks_arrive_one_by_one_and_a_client_who_leaves_stops_the_model(served: Served) -> None:
    served.stage.calls.clear()
    asked = {"messages": user("#delay 100 #count 50"), "stream": True}
    (times,) = ask(served, [("relay", [GLM, asked])], leaveAfter=8)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert sum(gap > 40 for gap in gaps) >= 4, times
    (call,) = served.stage.calls.recent()
    assert call.cancelled
    assert 4 <= call.tokens_sent <= 22, call
