"""Tool calls and JSON mode are valid against their schemas, streamed or not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway.local.ai.schema import instance
from tests.local.ai.conftest import KIMI, LLAMA, Served
from tests.local.ai.test_chat import chunks, user

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 12},
        "days": {"type": "integer", "minimum": 3, "maximum": 9},
        "unit": {"type": "string", "enum": ["c", "f"]},
    },
    "required": ["city", "days"],
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}},
]


def check_weather(arguments: dict[str, Any]) -> None:
    assert isinstance(arguments["city"], str)
    assert len(arguments["city"]) >= 12
    assert isinstance(arguments["days"], int)
    assert 3 <= arguments["days"] <= 9
    assert arguments["unit"] in ("c", "f")


def message_of(served: Served, **body: object) -> dict[str, Any]:
    choice = served.completion({"tools": TOOLS, **body}, KIMI).json()["choices"][0]
    message: dict[str, Any] = choice["message"]
    assert choice["finish_reason"] == ("tool_calls" if "tool_calls" in message else "stop")
    return message


def test_a_prompt_that_names_a_tool_gets_a_call_with_valid_arguments(served: Served) -> None:
    message = message_of(served, messages=user("please call get_weather for Oslo"))
    (call,) = message["tool_calls"]
    assert message["content"] is None
    assert call["function"]["name"] == "get_weather"
    check_weather(json.loads(call["function"]["arguments"]))


def test_a_streamed_call_comes_in_pieces_that_join_to_the_whole_one(served: Served) -> None:
    whole = message_of(served, messages=user("get_weather and get_time"))["tool_calls"]
    body: dict[str, object] = {"messages": user("get_weather and get_time"), "tools": TOOLS, "stream": True}
    joined: dict[int, dict[str, str]] = {}
    pieces = 0
    for chunk in chunks(served.completion(body, KIMI).text):
        for call in chunk["choices"][0]["delta"].get("tool_calls", ()):
            entry = joined.setdefault(call["index"], {"arguments": ""})
            entry.update({key: call[key] for key in ("id",) if key in call})
            entry.setdefault("name", call["function"].get("name", ""))
            entry["arguments"] += call["function"]["arguments"]
            pieces += 1
    assert pieces > 4
    assert [joined[at]["id"] for at in sorted(joined)] == [call["id"] for call in whole]
    assert [joined[at]["arguments"] for at in sorted(joined)] == [call["function"]["arguments"] for call in whole]


def test_tool_choice_and_parallel_calls_are_followed(served: Served) -> None:
    both = user("get_weather and get_time")
    assert len(message_of(served, messages=both)["tool_calls"]) == 2
    assert len(message_of(served, messages=both, parallel_tool_calls=False)["tool_calls"]) == 1
    assert "tool_calls" not in message_of(served, messages=both, tool_choice="none")
    assert "tool_calls" not in message_of(served, messages=user("good morning"))
    assert len(message_of(served, messages=user("good morning"), tool_choice="required")["tool_calls"]) == 1
    forced = message_of(served, messages=user("hi"), tool_choice={"type": "function", "function": {"name": "get_time"}})
    assert forced["tool_calls"][0]["function"]["name"] == "get_time"


def test_gw_10_the_turn_after_a_tool_result_is_an_answer(served: Served) -> None:
    call = message_of(served, messages=user("get_time"))["tool_calls"][0]
    messages = [
        *user("get_time"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "noon"},
    ]
    message = message_of(served, messages=messages)
    assert "tool_calls" not in message
    assert "noon" in message["content"]


def test_json_mode_gives_json_and_a_schema_gives_an_instance_of_it(served: Served) -> None:
    def ask(model: str, response_format: dict[str, object]) -> object:
        body: dict[str, object] = {"messages": user("hi"), "response_format": response_format}
        return json.loads(served.completion(body, model).json()["choices"][0]["message"]["content"])

    assert isinstance(ask(KIMI, {"type": "json_object"}), dict)
    for shape in ({"name": "w", "schema": WEATHER}, WEATHER):
        found = ask(KIMI, {"type": "json_schema", "json_schema": shape})
        assert isinstance(found, dict)
        check_weather(found)
    body: dict[str, object] = {"prompt": "hi", "response_format": {"type": "json_schema", "json_schema": WEATHER}}
    check_weather(served.run(LLAMA, body).json()["result"]["response"])


def test_json_that_does_not_fit_the_limit_is_cut_and_says_so(served: Served) -> None:
    body: dict[str, object] = {"messages": user("hi"), "response_format": {"type": "json_object"}, "max_tokens": 3}
    choice = served.completion(body, KIMI).json()["choices"][0]
    assert choice["finish_reason"] == "length"
    with pytest.raises(json.JSONDecodeError):
        json.loads(choice["message"]["content"])


def test_schemas_with_references_unions_and_recursion_come_to_an_end() -> None:
    tree = {
        "$defs": {"node": {"type": "object", "required": ["name", "next"],
                           "properties": {"name": {"type": "string"},
                                          "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}}},
        "$ref": "#/$defs/node",
    }  # fmt: skip
    made = instance(tree, ["word"])
    assert isinstance(made, dict)
    assert made["name"] == "word"
    assert isinstance(made["next"], dict)
    json.dumps(made)
    merged = instance(
        {"allOf": [{"properties": {"a": {"const": 7}}, "required": ["a"]}, {"required": ["b"]}], "type": "object"},
        ["w"],
    )
    assert merged == {"a": 7, "b": "w"}
    assert instance({"type": "array", "items": {"type": "number", "exclusiveMinimum": 4}, "minItems": 2}, ["w"]) == [
        4.5,
        4.5,
    ]
