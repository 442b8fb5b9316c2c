"""What the stage remembers: calls of models, and events from Workers; plus limits and batches."""

from __future__ import annotations

import json
import time

import pytest

from sluiceway.errors import UserError
from sluiceway.local.ai.calls import CallLog
from sluiceway.local.ai.errors import AiError
from sluiceway.local.ai.limits import RateLimiter
from sluiceway.local.ai.models import find
from sluiceway.local.ai.sink import EventSink
from tests.local.ai.conftest import GLM, KIMI, SECRET, Served

CALLS = "/client/v4/_local/ai/calls"
EVENTS = "/client/v4/_local/events"


def test_calls_are_told_with_inputs_and_outcome_and_without_credentials(served: Served) -> None:
    served.client.delete(f"{served.url}{CALLS}")
    served.client.post(
        f"{served.ai}/run/{GLM}", json={"prompt": "#count 4"}, headers={"cf-aig-metadata": '{"a":1}', "x-api-key": "k"}
    )
    served.run(GLM, {"prompt": "#error 3040"})
    answer = served.client.get(f"{served.url}{CALLS}")
    first, second = answer.json()["result"]
    assert first["inputs"] == {"prompt": "#count 4"}
    assert (first["status"], first["finish_reason"], first["usage"]["completion_tokens"]) == ("ok", "stop", 4)
    assert first["headers"] == {"cf-aig-metadata": '{"a":1}'}
    assert (second["status"], second["cancelled"]) == ("error", False)
    assert second["error"].startswith("3040")
    assert len(served.client.get(f"{served.url}{CALLS}?since={first['seq']}").json()["result"]) == 1
    served.client.delete(f"{served.url}{CALLS}")
    assert served.client.get(f"{served.url}{CALLS}").json()["result"] == []
    assert served.client.get(f"{served.url}{CALLS}", headers={"authorization": ""}).status_code == 401


@pytest.mark.parametrize("body", ['{"kind":"tail","n":1}', '[{"kind":"tail","n":1}]', '{"kind":"tail","n":1}\n'])
def test_events_are_kept_in_order_and_written_as_lines(served: Served, body: str) -> None:
    before = served.stage.sink.last_seq
    served.lines.clear()
    sink = f"{served.url}/_local/sink/{SECRET}"
    assert served.client.post(sink, content=body).status_code == 204
    assert (
        served.client.post(sink, content='{"kind":"analytics","text":"模型"}\n{"kind":"tail","n":2}').status_code == 204
    )
    found = served.client.get(f"{served.url}{EVENTS}?kind=tail&since={before}").json()["result"]
    assert [event["n"] for event in found["events"]] == [1, 2]
    assert found["next"] == before + 3
    assert [json.loads(line)["kind"] for line in served.lines] == ["tail", "analytics", "tail"]
    assert "模型" in served.lines[1]


@pytest.mark.parametrize("body", [b"no", b"[1]", b"\xff", b'"x"'])
def test_what_is_no_event_is_refused(served: Served, body: bytes) -> None:
    before = served.stage.sink.last_seq
    assert served.client.post(f"{served.url}/_local/sink/{SECRET}", content=body).status_code == 400
    assert served.stage.sink.last_seq == before


def test_rate_limits_are_per_model_and_over_a_minute() -> None:
    now = [0.0]
    limiter = RateLimiter(clock=lambda: now[0])
    for _ in range(20):
        limiter.admit(find(KIMI))
    with pytest.raises(AiError) as caught:
        limiter.admit(find(KIMI))
    assert caught.value.status == 429
    limiter.admit(find(GLM))
    now[0] = 60.5
    limiter.admit(find(KIMI))


def test_a_rate_limit_that_is_no_number_is_refused() -> None:
    assert RateLimiter.parse("7").per_minute == 7
    assert RateLimiter.parse("cloudflare").per_minute is None
    for wrong in ("0", "-1", "many", "1.5"):
        with pytest.raises(UserError, match="SLUICEWAY_LOCAL_AI_RATE_LIMIT"):
            RateLimiter.parse(wrong)


def test_a_limited_model_answers_429(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.stage, "limiter", RateLimiter(2))
    assert [served.run(GLM, {"prompt": "x"}).status_code for _ in range(3)] == [200, 200, 429]


def test_a_batch_is_queued_and_answered_in_order(served: Served) -> None:
    model = "@cf/meta/llama-3.3-70b-instruct-fp8-fast"
    requests = [{"prompt": "#count 2", "external_reference": "a"}, {"prompt": "#error 3040"}]
    queued = served.client.post(f"{served.ai}/run/{model}?queueRequest=true", json={"requests": requests})
    told = queued.json()["result"]
    assert told["status"] == "queued"
    for _ in range(100):
        result = served.run(model, {"request_id": told["request_id"]}).json()["result"]
        if "responses" in result:
            break
        assert result["status"] in ("queued", "running")
        time.sleep(0.02)
    first, second = result["responses"]
    assert (first["external_reference"], first["result"]["response"]) == ("a", "1 2")
    assert (second["success"], second["error"]["internalCode"]) == (False, 3040)
    assert served.run(GLM, {"requests": requests}).status_code == 400
    assert served.run(model, {"request_id": "none"}).status_code == 400


def test_models_can_be_searched(served: Served) -> None:
    answer = served.client.get(f"{served.ai}/models/search?search=glm&task=text%20generation&per_page=2&page=2").json()
    assert len(answer["result"]) == 2
    assert answer["result_info"]["total_count"] == 4
    assert served.client.get(f"{served.ai}/models/search?page=x").status_code == 400


def test_what_is_remembered_is_bounded_by_size_too() -> None:
    calls = CallLog()
    for _ in range(20):
        calls.open("rest", GLM, {}, {}, {}, size=4_000_000)
    assert 2 <= len(calls.recent()) <= 8
    assert calls.recent()[-1].seq == 20
    lines: list[str] = []
    sink = EventSink(lines.append)
    sink.add({"kind": "tail", "text": "x" * 4_000_000} for _ in range(20))
    assert len(lines) == 20
    assert 2 <= len(sink.recent()) <= 4
    sink.add({"kind": "tail"} for _ in range(6000))
    assert len(sink.recent()) == 5000


def test_half_a_character_in_a_prompt_breaks_neither_the_answer_nor_the_views(served: Served) -> None:
    sent = b'{"messages":[{"role":"user","content":"repeat after me: a\\ud83eb"}],"stream":%s}'
    for stream in (b"false", b"true"):
        answer = served.client.post(f"{served.ai}/run/{GLM}", content=sent % stream)
        assert answer.status_code == 200
        assert "\\ud83e" in answer.text
    assert served.client.get(f"{served.url}{CALLS}").status_code == 200
