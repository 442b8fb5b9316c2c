"""What callers see of a fault, over HTTP: by the OpenAI-compatible face, by name, and by the binding."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from sluiceway.local.ai import answer as answering
from sluiceway.local.ai.engine import Engine
from sluiceway.local.ai.scripted import ScriptedEngine
from sluiceway.local.faults.engine import FaultyEngine
from sluiceway.local.faults.fault import Fault
from tests.local.ai.conftest import GLM, KIMI, SECRET, Served, serving
from tests.local.ai.test_chat import user

FAULTS = "/client/v4/_local/faults"
BGE = "@cf/baai/bge-m3"
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}  # fmt: skip


@pytest.fixture(scope="module")
def stage() -> Iterator[Served]:
    with serving(ScriptedEngine(token_delay=0.0)) as found:
        yield found


@pytest.fixture
def served(stage: Served) -> Iterator[Served]:
    yield stage
    stage.client.delete(f"{stage.url}{FAULTS}")
    stage.stage.calls.clear()


def add(served: Served, **fault: object) -> dict[str, Any]:
    answer = served.client.post(f"{served.url}{FAULTS}", json=fault)
    assert answer.status_code == 200, answer.text
    added: dict[str, Any] = answer.json()["result"]
    return added


def ask(served: Served, prompt: str = "#count 20", *, stream: bool = False, **more: object) -> httpx.Response:
    return served.completion({"messages": user(prompt), "stream": stream, **more})


def read(served: Served, prompt: str = "#count 20", **more: object) -> tuple[list[str], Exception | None]:
    """The ``data`` of a stream's events, and what ended it."""
    got: list[str] = []
    body = {"model": GLM, "messages": user(prompt), "stream": True, **more}
    try:
        with served.client.stream("POST", f"{served.ai}/v1/chat/completions", json=body) as response:
            got.extend(line.removeprefix("data: ") for line in response.iter_lines() if line)
    except httpx.HTTPError as error:
        return got, error
    return got, None


def words(events: list[str]) -> str:
    chunks = [json.loads(event) for event in events if event != "[DONE]"]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def binding(served: Served, model: str, inputs: dict[str, object]) -> httpx.Response:
    """As workerd's AI binding asks."""
    headers = {"mf-url": "https://workers-binding.ai/run?version=3", "mf-header-cf-consn-model-id": model}
    return served.client.post(
        f"{served.url}/_local/ai/{SECRET}", json={"inputs": inputs, "options": {}}, headers=headers
    )


def test_a_refusal_has_status_code_and_retry_after(served: Served) -> None:
    add(served, status=429, code=3036, retry_after=7)
    refused = ask(served)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert refused.json()["errors"][0]["code"] == 3036
    streamed = ask(served, stream=True)
    assert streamed.status_code == 429
    by_binding = binding(served, GLM, {"prompt": "x"})
    assert (by_binding.status_code, by_binding.headers["retry-after"]) == (429, "7")
    assert by_binding.json()["internalCode"] == 3036
    assert served.stage.calls.recent()[-1].fault == 1


def test_a_backend_that_fails_leaves_the_other_one_well(served: Served) -> None:
    add(served, backend="workers-ai", status=503)
    assert binding(served, GLM, {"prompt": "x"}).status_code == 503
    assert served.run(GLM, {"prompt": "x"}).status_code == 503
    assert ask(served).status_code == 200
    served.client.delete(f"{served.url}{FAULTS}")
    add(served, backend="openai", status=503)
    assert binding(served, GLM, {"prompt": "x"}).status_code == 200
    assert ask(served).status_code == 503


def test_a_model_that_fails_leaves_the_others_well(served: Served) -> None:
    add(served, models=["kimi*"], status=500)
    assert served.run(KIMI, {"prompt": "x"}).status_code == 500
    assert served.run(GLM, {"prompt": "x"}).status_code == 200


@pytest.mark.parametrize("streamed", [True, False])
def test_the_first_token_is_late_and_the_rest_is_slow(
    served: Served, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    class Driven(FaultyEngine):
        def __init__(self, inner: Engine, fault: Fault) -> None:
            super().__init__(inner, fault, sleep, clock=lambda: sum(slept))

    monkeypatch.setattr(answering, "FaultyEngine", Driven)
    add(served, delay_ms=300, tokens_per_second=50)
    assert ask(served, "#count 10", stream=streamed).status_code == 200
    assert slept == pytest.approx([0.3, *[0.02] * 10])


def test_a_caller_who_leaves_during_the_delay_ends_the_call(served: Served) -> None:
    add(served, delay_ms=60_000, status=500)
    with pytest.raises(httpx.ReadTimeout):
        served.client.post(f"{served.ai}/run/{GLM}", json={"prompt": "x"}, timeout=0.3)
    deadline = time.monotonic() + 20
    while not served.stage.calls.recent()[-1].cancelled:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_gw_03_a_stream_is_cut_after_so_many_tokens(served: Served) -> None:
    add(served, cut_after=3)
    events, ended = read(served)
    assert isinstance(ended, httpx.RemoteProtocolError)
    assert words(events) == "1 2 3"
    assert served.stage.calls.recent()[-1].tokens_sent == 3


def test_gw_07_a_stream_is_cut_behind_its_start_frame(served: Served) -> None:
    add(served, cut_after=0)
    events, ended = read(served)
    assert isinstance(ended, httpx.RemoteProtocolError)
    assert json.loads(events[0])["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert words(events) == ""


def test_an_answer_shorter_than_the_cut_is_whole(served: Served) -> None:
    add(served, cut_after=1000)
    assert read(served)[1] is None


def test_a_whole_answer_is_cut_half_way(served: Served) -> None:
    add(served, cut_after=3)
    with pytest.raises(httpx.RemoteProtocolError, match=r"incomplete|peer closed"):
        ask(served)
    with pytest.raises(httpx.RemoteProtocolError):
        binding(served, BGE, {"text": "x"})
    assert [call.status for call in served.stage.calls.recent()] == ["error", "error"]


def test_a_body_is_no_json(served: Served) -> None:
    add(served, broken="json")
    for answer in (ask(served), binding(served, BGE, {"text": ["x"]}), served.run(GLM, {"prompt": "x"})):
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
            answer.json()


def test_one_event_of_a_stream_is_no_json_and_the_others_are(served: Served) -> None:
    add(served, broken="json")
    events, ended = read(served)
    assert ended is None
    assert events[-1] == "[DONE]"
    bad = [at for at, event in enumerate(events[:-1]) if not _is_json(event)]
    assert bad == [2]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_the_arguments_of_a_tool_call_end_early(served: Served) -> None:
    add(served, broken="tool")
    answer = ask(served, "#tool weather in Basel", tools=[TOOL]).json()
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], answer["choices"][0]["finish_reason"]) == ("weather", "tool_calls")
    assert call["function"]["arguments"].startswith("{")
    assert not _is_json(call["function"]["arguments"])
    chunks = [json.loads(event) for event in read(served, "#tool weather in Basel", tools=[TOOL])[0][:-1]]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    parts = [each["function"].get("arguments", "") for delta in deltas for each in delta.get("tool_calls", ())]
    assert "".join(parts) == call["function"]["arguments"]
    assert ask(served).status_code == 200  # without tools there is nothing to break
    assert served.client.get(f"{served.url}{FAULTS}").json()["result"][0]["considered"] == 2


def test_a_model_declines(served: Served) -> None:
    add(served, refuse=True)
    choice = ask(served).json()["choices"][0]
    assert choice["finish_reason"] == "content_filter"
    assert choice["message"]["content"] == "I can't help with that."
    assert words(read(served)[0]) == choice["message"]["content"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_is_dropped_before_any_answer(served: Served, stream: bool) -> None:
    add(served, drop=True, count=4)
    calls: list[Callable[[], object]] = [
        lambda: ask(served, stream=stream),
        lambda: binding(served, GLM, {"prompt": "x", "stream": stream}),
        lambda: binding(served, BGE, {"text": "x"}),
        lambda: binding(served, "@cf/baai/bge-reranker-base", {"query": "x", "contexts": [{"text": "x"}]}),
    ]
    for call in calls:
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            call()
    assert ask(served).status_code == 200


def test_faults_are_added_listed_and_cleared(served: Served) -> None:
    url = f"{served.url}{FAULTS}"
    both = served.client.post(url, json=[{"status": 429, "share": 0.5, "seed": 1}, {"drop": True, "seconds": 3600}])
    assert [each["id"] for each in both.json()["result"]] == [1, 2]
    first, second = served.client.get(url).json()["result"]
    assert first == {"id": 1, "status": 429, "share": 0.5, "seed": 1, "considered": 0, "hits": 0,
                     "seconds_left": None, "ended": False}  # fmt: skip
    assert 3000 < second["seconds_left"] <= 3600
    assert served.client.delete(f"{url}/2").json()["result"] == {"cleared": 1}
    assert served.client.delete(f"{url}/2").status_code == 404
    assert served.client.delete(url).json()["result"] == {"cleared": 1}
    assert served.client.get(url).json()["result"] == []
    assert served.client.get(url, headers={"authorization": "Bearer no"}).status_code == 401


@pytest.mark.parametrize("sent", ["", "no", "[]", "1", "[1]", '{"status": 200}', '[{"drop":true},{}]', '{"x":1}'])
def test_a_list_is_added_whole_or_not_at_all(served: Served, sent: str) -> None:
    answer = served.client.post(f"{served.url}{FAULTS}", content=sent)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["message"] and error["path"] and error["hint"]
    assert served.client.get(f"{served.url}{FAULTS}").json()["result"] == []
