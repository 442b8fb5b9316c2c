"""The official OpenAI client, as an application's developer uses it, against the stage that `up` made."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionMessageFunctionToolCall, ChatCompletionMessageParam
from pydantic import BaseModel

from tests.e2e.conftest import Served

QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "repeat after me: 水闸 opens 🦊."}]
SAID = "水闸 opens 🦊."
WEATHER = {
    "name": "weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class Place(BaseModel):
    city: str
    population: int


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key=served.key, max_retries=0) as client:
        yield client


def test_chat_says_the_same_whole_and_streamed(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="chat@1", messages=QUESTION)
    assert whole.choices[0].message.content == SAID
    assert whole.choices[0].finish_reason == "stop"
    assert whole._request_id
    with client.chat.completions.stream(model="chat@1", messages=QUESTION) as stream:
        text = "".join(event.delta for event in stream if event.type == "content.delta")
        final = stream.get_final_completion()
    assert text == final.choices[0].message.content == SAID


def test_a_tool_is_called_streamed_and_its_result_is_taken(client: openai.OpenAI) -> None:
    asked: list[ChatCompletionMessageParam] = [{"role": "user", "content": "#tool weather"}]
    with client.chat.completions.stream(
        model="chat@1",
        messages=asked,
        tools=[{"type": "function", "function": WEATHER}],  # type: ignore[typeddict-item]
    ) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.tool_calls is not None
    (call,) = message.tool_calls
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert call.function.name == "weather"
    assert isinstance(json.loads(call.function.arguments), dict)
    asked.append({"role": "assistant", "content": None, "tool_calls": [
        {"id": call.id, "type": "function", "function": {"name": "weather", "arguments": call.function.arguments}},
    ]})  # fmt: skip
    asked.append({"role": "tool", "tool_call_id": call.id, "content": "cold"})
    answer = client.chat.completions.create(model="chat@1", messages=asked)
    assert answer.choices[0].message.content


def test_an_answer_keeps_to_a_schema(client: openai.OpenAI) -> None:
    answer = client.chat.completions.parse(
        model="chat@1", messages=[{"role": "user", "content": "Which city?"}], response_format=Place
    )
    assert isinstance(answer.choices[0].message.parsed, Place)


def test_completions_say_the_same_whole_and_streamed(client: openai.OpenAI) -> None:
    prompt = "repeat after me: here"
    whole = client.completions.create(model="chat@1", prompt=[prompt, prompt])
    assert [(choice.index, choice.text) for choice in whole.choices] == [(0, "here"), (1, "here")]
    stream = client.completions.create(model="chat@1", prompt=prompt, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream if chunk.choices) == "here"


def test_embeddings_are_the_same_numbers_in_both_encodings(client: openai.OpenAI) -> None:
    texts = ["水闸", "A sluice."]
    # The client asks for base64 unless it is told otherwise, and unpacks it.
    packed = client.embeddings.create(model="embed", input=texts)
    plain = client.embeddings.create(model="embed", input=texts, encoding_format="float")
    assert [len(one.embedding) for one in plain.data] == [1024, 1024]
    for left, right in zip(packed.data, plain.data, strict=True):
        assert left.embedding == pytest.approx(right.embedding, abs=1e-6)
    assert plain.usage.prompt_tokens > 0
    with pytest.raises(openai.BadRequestError, match="1024") as refused:
        client.embeddings.create(model="embed", input=texts, dimensions=5)
    assert refused.value.param == "dimensions"


def test_base64_is_little_endian_floats_on_the_wire(served: Served) -> None:
    body = {"model": "embed", "input": "水闸", "encoding_format": "base64"}
    answer = httpx.post(
        f"{served.url}/v1/embeddings", json=body, headers={"authorization": f"Bearer {served.key}"}, timeout=30
    )
    raw = base64.b64decode(answer.json()["data"][0]["embedding"])
    length = sum(value * value for value in struct.unpack(f"<{len(raw) // 4}f", raw)) ** 0.5
    assert length == pytest.approx(1, abs=1e-3)


def test_responses_say_the_same_whole_and_streamed(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "chat@1", "instructions": "Be brief.", "input": QUESTION[0]["content"]}
    whole = client.responses.create(**asked)
    assert (whole.status, whole.output_text) == ("completed", SAID)
    with client.responses.stream(**asked) as stream:
        events = [event.type for event in stream]
        final = stream.get_final_response()
    assert final.output_text == SAID
    assert events[:2] == ["response.created", "response.in_progress"]
    assert events[-1] == "response.completed"
    assert final.usage == whole.usage


def test_responses_call_functions(client: openai.OpenAI) -> None:
    tool = {"type": "function", "strict": False, **WEATHER}
    first = client.responses.create(model="chat@1", input="#tool weather", tools=[tool])  # type: ignore[list-item]
    (call,) = first.output
    assert call.type == "function_call"
    assert call.name == "weather"
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "cold"}
    said: Any = [{"role": "user", "content": "#tool weather"}, call.model_dump(exclude_none=True), result]
    assert client.responses.create(model="chat@1", input=said).output_text


def test_what_the_stage_does_not_keep_is_refused_by_its_name(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="conversations") as refused:
        client.responses.create(model="chat@1", input="Hi", previous_response_id="resp_1")
    assert refused.value.param == "previous_response_id"


def test_errors_are_the_clients_own(served: Served, client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="gpt-9", messages=QUESTION)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as bad:
        client.completions.create(model="chat@1", prompt="Hi", suffix="end")
    assert bad.value.param == "suffix"
    wrong = openai.OpenAI(base_url=f"{served.url}/v1", api_key="wrong", max_retries=0)
    with wrong, pytest.raises(openai.AuthenticationError):
        wrong.embeddings.create(model="embed", input="Hi")


def test_the_simple_api_takes_a_history_and_streams(served: Served) -> None:
    headers = {"authorization": f"Bearer {served.key}"}
    body = {"prompt": "#messages", "history": [{"role": "user", "content": "I am Ada."}], "model": "chat@1"}
    answer = httpx.post(f"{served.url}/", json=body, headers=headers, timeout=30)
    assert [message["content"] for message in json.loads(answer.json()["response"]["text"])][-2:] == [
        "I am Ada.", "#messages",
    ]  # fmt: skip
    with httpx.stream(
        "POST",
        f"{served.url}/",
        json={"prompt": "repeat after me: 水闸 opens", "stream": True},
        headers=headers,
        timeout=30,
    ) as stream:
        events = [line.removeprefix("data: ") for line in stream.iter_lines() if line]
    assert events[-1] == "[DONE]"
    assert "".join(json.loads(event)["response"]["text"] for event in events[:-1]) == "水闸 opens"
