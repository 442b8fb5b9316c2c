from __future__ import annotations

from typing import Any

import pytest
from pulumi.provider.experimental.property_value import PropertyValue

from sluiceway.engine.provider.spelling import camel, respell, snake
from sluiceway.engine.provider.values import (
    UNKNOWN,
    Secret,
    decode,
    encode,
    has_unknown,
    mark_like,
    reveal,
    secret_texts,
)

SAMPLES: list[Any] = [
    None,
    True,
    0,
    7,
    0.5,
    "",
    "模型 🦊",
    [],
    {},
    UNKNOWN,
    Secret("s"),
    {"a": [1, {"b": Secret([UNKNOWN, "x"])}], "c": None},
]


@pytest.mark.parametrize("value", SAMPLES, ids=repr)
def test_values_survive_the_way_over_the_wire(value: Any) -> None:  # noqa: ANN401
    over = PropertyValue.unmarshal(encode(value).marshal())
    assert decode(over) == value


def test_whole_numbers_come_back_as_int() -> None:
    assert isinstance(decode(PropertyValue(600.0)), int)
    assert isinstance(decode(PropertyValue(0.5)), float)


def test_pu_07_a_secret_has_no_text() -> None:
    assert "canary" not in f"{Secret('canary')!r} {Secret('canary')!s} {[Secret({'a': 'canary'})]}"


def test_marks_follow_the_places_of_the_inputs() -> None:
    like = {"bindings": [{"name": "A", "text": Secret("x")}], "whole": Secret([1])}
    marked = mark_like({"bindings": [{"name": "A", "text": "y"}, {"name": "B"}], "whole": [2], "more": 1}, like)
    assert marked == {
        "bindings": [{"name": "A", "text": Secret("y")}, {"name": "B"}],
        "whole": Secret([2]),
        "more": 1,
    }
    assert reveal(marked)["bindings"][0]["text"] == "y"
    assert list(secret_texts(like)) == ["x"]


def test_unknowns_are_found_inside() -> None:
    assert has_unknown({"a": [Secret({"b": UNKNOWN})]})
    assert not has_unknown({"a": [Secret({"b": 1})]})


@pytest.mark.parametrize("theirs", ["account_id", "content_base64", "content_sha256", "startup_time_ms", "name"])
def test_spelling_goes_both_ways(theirs: str) -> None:
    assert snake(camel(theirs)) == theirs


def test_keys_that_are_the_users_words_are_not_respelled() -> None:
    body = {"exports": {"Roll_OutController": {"renamedTo": "x"}}, "mainModule": "index.js"}
    assert respell(body, snake, {}, {}) == {
        "exports": {"Roll_OutController": {"renamed_to": "x"}},
        "main_module": "index.js",
    }


def test_renames_hold_at_their_own_depth() -> None:
    body = {"aiGatewayId": "g", "rules": [{"aiGatewayId": "x", "aiGatewayProvider": "p"}]}
    assert respell(body, snake, {"aiGatewayId": "id"}, {"aiGatewayProvider": "provider"}) == {
        "id": "g",
        "rules": [{"ai_gateway_id": "x", "provider": "p"}],
    }
