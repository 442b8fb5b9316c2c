"""Chat over the REST paths: shapes, determinism, limits, usage, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway.local.ai import tokens
from tests.local.ai.conftest import GLM, KIMI, LLAMA, Served


def user(text: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": text}]


def chunks(text: str) -> list[dict[str, Any]]:
    events = [event for event in text.split("\n\n") if event]
    assert all(event.startswith("data: ") for event in events)
    assert events[-1] == "data: [DONE]"
    assert events.count("data: [DONE]") == 1
    return [json.loads(event.removeprefix("data: ")) for event in events[:-1]]


def streamed_text(found: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content") or "" for chunk in found for choice in chunk["choices"])


def content(answer: Any) -> str:  # noqa: ANN401 - whatever JSON came
    text = answer["choices"][0]["message"]["content"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("prompt", ["hello", "你好，世界 🦊🦊", "#count 70", "repeat after me: a\r\n\tb  🦊", ""])
@pytest.mark.parametrize("model", [GLM, KIMI])
def test_a_streamed_answer_is_the_whole_answer_cut_up(served: Served, model: str, prompt: str) -> None:
    whole = served.completion({"messages": user(prompt)}, model).json()
    stream = served.completion({"messages": user(prompt), "stream": True}, model)
    assert stream.headers["content-type"] == "text/event-stream"
    found = chunks(stream.text)
    assert streamed_text(found) == content(whole)
    assert found[-1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert [chunk["choices"][0]["delta"].get("role") for chunk in found].count("assistant") == 1


def test_answers_depend_on_model_messages_and_seed_alone(served: Served) -> None:
    def ask(**more: object) -> str:
        return content(served.completion({"messages": user("which?"), **more}).json())

    assert ask() == ask() == ask(temperature=1.5)
    assert len({ask(seed=seed) for seed in range(12)}) > 3
    assert content(served.completion({"messages": user("which?")}, KIMI).json()).startswith("[scripted kimi-k2.6]")


def test_a_system_prompt_arrives_byte_for_byte(served: Served) -> None:
    nasty = 'a"b\\n\n\r\n\t{{ x }} ${y} `z` </script> \u2028\u00a0 模型 🦊 \x00 end '
    messages = [{"role": "system", "content": nasty}, *user("#system")]
    assert content(served.completion({"messages": messages}).json()) == nasty
    assert streamed_text(chunks(served.completion({"messages": messages, "stream": True}).text)) == nasty


def test_gw_09_an_answer_stops_at_256_tokens_unless_more_is_asked_for(served: Served) -> None:
    for limit, expected, reason in ((None, 256, "length"), (10, 10, "length"), (400, 400, "stop"), (401, 400, "stop")):
        body: dict[str, object] = {"messages": user("#count 400"), "max_tokens": limit}
        answer = served.completion(body).json()
        assert content(answer).split() == [str(number) for number in range(1, expected + 1)]
        assert answer["choices"][0]["finish_reason"] == reason
        assert answer["usage"]["completion_tokens"] == expected
    both = served.completion({"messages": user("#count 400"), "max_completion_tokens": 12}).json()
    assert both["usage"]["completion_tokens"] == 12


@pytest.mark.parametrize("limit", [0, -1, "50", 1.5, True])
def test_gw_09_a_limit_that_is_no_whole_number_from_1_is_refused(served: Served, limit: object) -> None:
    response = served.completion({"messages": user("x"), "max_tokens": limit})
    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == 5006
    assert "/max_tokens" in response.json()["errors"][0]["message"]


@pytest.mark.parametrize(("asked", "told"), [(True, 1), (False, 0), (None, 0)])
def test_gw_02_usage_comes_as_one_last_chunk_without_choices_when_asked(
    served: Served, asked: bool | None, told: int
) -> None:
    options = {} if asked is None else {"stream_options": {"include_usage": asked}}
    found = chunks(served.completion({"messages": user("hi"), "stream": True, **options}).text)
    with_usage = [chunk for chunk in found if "usage" in chunk]
    assert len(with_usage) == told
    if told:
        whole = served.completion({"messages": user("hi")}).json()
        assert found[-1] is with_usage[0]
        assert found[-1]["choices"] == []
        assert found[-1]["usage"] == whole["usage"]


def test_a_run_by_name_tells_usage_at_the_end_of_a_stream_unasked(served: Served) -> None:
    found = chunks(served.run(GLM, {"messages": user("hi"), "stream": True}).text)
    assert found[-1]["usage"]["total_tokens"] > 0


def test_tokens_count_chinese_and_emoji_higher_than_letters() -> None:
    assert tokens.count("你好世界" * 50) == 200
    assert tokens.count("안" * 200) == 200
    assert tokens.count("🦊" * 100) == 200
    assert tokens.count("a" * 300) == 50


def test_older_models_answer_in_their_own_shape(served: Served) -> None:
    whole = served.run(LLAMA, {"prompt": "#count 3"}).json()["result"]
    assert whole["response"] == "1 2 3"
    assert whole["usage"]["completion_tokens"] == 3
    found = chunks(served.run(LLAMA, {"prompt": "#count 3", "stream": True}).text)
    assert "".join(chunk["response"] for chunk in found) == "1 2 3"
    assert found[-1]["usage"] == whole["usage"]
    openai = served.completion({"messages": user("#count 3")}, LLAMA).json()
    assert content(openai) == "1 2 3"


def test_reasoning_comes_when_asked_for_and_counts_as_output(served: Served) -> None:
    body: dict[str, object] = {"messages": user("hi"), "chat_template_kwargs": {"thinking": True}}
    message = served.completion(body, KIMI).json()["choices"][0]["message"]
    assert message["reasoning"] == message["reasoning_content"] != ""
    found = chunks(served.completion({**body, "stream": True}, KIMI).text)
    thought = "".join(chunk["choices"][0]["delta"].get("reasoning_content") or "" for chunk in found)
    assert thought == message["reasoning"]
    plain = served.completion({"messages": user("hi")}, KIMI).json()
    assert "reasoning" not in plain["choices"][0]["message"]
    details = served.completion(body, KIMI).json()["usage"]["completion_tokens_details"]
    assert details["reasoning_tokens"] == tokens.count(thought)


def test_a_stop_sequence_ends_the_text_before_itself(served: Served) -> None:
    answer = served.completion({"messages": user("#count 9"), "stop": [" 4", " 7"]}).json()
    assert content(answer) == "1 2 3"
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_gw_13_a_prompt_beyond_the_window_is_refused_with_the_numbers(served: Served) -> None:
    response = served.run(LLAMA, {"prompt": "你好" * 4000})
    assert response.status_code == 413
    assert response.json()["errors"][0]["code"] == 5021
    assert "7968" in response.json()["errors"][0]["message"]


@pytest.mark.parametrize(("code", "status"), [(3036, 429), (3040, 429), (3006, 413), (3007, 408), (5028, 410)])
@pytest.mark.parametrize("stream", [True, False])
def test_errors_before_the_first_token_have_their_own_status(
    served: Served, code: int, status: int, stream: bool
) -> None:
    response = served.run(GLM, {"messages": user(f"#error {code}"), "stream": stream})
    assert response.status_code == status
    assert response.json()["success"] is False
    assert response.json()["errors"][0]["code"] == code


def test_an_unknown_model_is_5007(served: Served) -> None:
    response = served.run("@cf/none/such", {"prompt": "x"})
    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == 5007
    assert "@cf/none/such" in response.json()["errors"][0]["message"]


def test_a_retired_name_answers_under_its_successor(served: Served) -> None:
    answer = served.completion({"messages": user("hi")}, "@cf/moonshotai/kimi-k2.5").json()
    assert answer["model"] == KIMI


PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("model", "content", "status"),
    [(LLAMA, PARTS, 400), (LLAMA, None, 400), (GLM, PARTS, 200), (GLM, [IMAGE], 400), (KIMI, [*PARTS, IMAGE], 200)],
)
def test_gw_10_what_a_message_may_hold_depends_on_the_model(
    served: Served, model: str, content: object, status: int
) -> None:
    response = served.run(model, {"messages": [{"role": "user", "content": content}]})
    assert response.status_code == status
    if status == 400:
        assert "/messages/0/content" in response.json()["errors"][0]["message"]


def test_callers_without_the_token_and_of_another_account_are_refused(served: Served) -> None:
    url = f"{served.ai}/run/{GLM}"
    assert served.client.post(url, json={"prompt": "x"}, headers={"authorization": "Bearer no"}).status_code == 401
    other = url.replace(served.stage.account_id, "f" * 32)
    assert served.client.post(other, json={"prompt": "x"}).status_code == 403
    gateway = f"{served.url}/_local/gateway/v1/{'f' * 32}/default/workers-ai/{GLM}"
    assert served.client.post(gateway, json={"prompt": "x"}).status_code == 403
    assert served.client.post(f"{served.url}/_local/ai/guess", json={}).status_code == 404
    assert served.client.post(f"{served.url}/_local/sink/guess", json={}).status_code == 404


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b'{"a": 1}', b"[" * 100_000])
def test_a_body_that_is_no_request_is_refused_and_not_a_crash(served: Served, body: bytes) -> None:
    response = served.client.post(f"{served.ai}/run/{GLM}", content=body)
    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == 5006
