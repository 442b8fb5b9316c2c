"""What each check takes for an answer that meets it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sluiceway.golden.checks import score, weighed
from sluiceway.golden.model import KINDS, Check

SHAPE = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}
NUMBERS = {"kind": "numeric", "value": 391}


def found(pattern: str, text: str) -> bool | None:
    return None if pattern == "late" else bool(re.search(pattern, text))


def make(**stated: Any) -> Check:  # noqa: ANN401
    return KINDS[stated["kind"]].model_validate(stated)


@pytest.mark.parametrize(
    ("stated", "answer", "wanted"),
    [
        ({"kind": "contains", "text": "paris"}, "It is PARIS.", 1),
        ({"kind": "contains", "text": "paris", "case": True}, "It is Paris.", 0),
        ({"kind": "contains", "text": ["巴黎", "Paris"]}, "是巴黎。", 1),
        ({"kind": "contains", "text": "H2O"}, "Ｈ２Ｏ", 1),
        ({"kind": "contains", "text": "Rome"}, "Paris", 0),
        ({"kind": "not_contains", "text": ["sorry", "抱歉"]}, "很抱歉", 0),
        ({"kind": "not_contains", "text": ["sorry", "抱歉"]}, "好的", 1),
        ({"kind": "exact", "text": ["yes", "是"]}, " Yes\n", 1),
        ({"kind": "exact", "text": "yes"}, "yes, it is", 0),
        ({"kind": "exact", "text": "Yes", "case": True}, "yes", 0),
        ({"kind": "regex", "pattern": r"(?m)^- "}, "list:\n- one", 1),
        ({"kind": "regex", "pattern": r"\A\d+\Z"}, "12 apples", 0),
        ({"kind": "max_length", "characters": 3}, " 一二三\n", 1),
        ({"kind": "max_length", "characters": 3}, "four", 0),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_texts(stated: dict[str, Any], answer: str, wanted: int) -> None:
    assert score(make(**stated), answer, found) == wanted


@pytest.mark.parametrize(
    "answer", ["391", "17 × 23 = 391.", "等于391。", "**391**", r"\boxed{391}", "３９１", "it is 391km", "(391)"]
)
def test_a_number_is_found_wherever_a_person_would_see_it(answer: str) -> None:
    assert score(make(**NUMBERS), answer, found) == 1


@pytest.mark.parametrize("answer", ["", "3910", "v391", "39.1", "-391", "391,000", "three hundred ninety-one", "0.391"])
def test_another_number_is_not_taken_for_it(answer: str) -> None:
    assert score(make(**NUMBERS), answer, found) == 0


@pytest.mark.parametrize(
    ("stated", "answer", "wanted"),
    [
        ({"value": 1234567}, "1,234,567 people", 1),
        ({"value": -40}, "−40 °C", 1),
        ({"value": 3.14159, "tolerance": 0.002}, "about 3.14.", 1),
        ({"value": 3.14159, "tolerance": 0.001}, "about 3.14.", 0),
        ({"value": 6e23, "tolerance": 1e22}, "6.02e23", 1),
        ({"value": 7, "pick": "last"}, "3 + 4 = 7", 1),
        ({"value": 3, "pick": "last"}, "3 + 4 = 7", 0),
        ({"value": 3, "pick": "first"}, "3 + 4 = 7", 1),
        ({"value": 23}, "40-17=23", 1),
        ({"value": 17}, "40-17=23", 1),
        ({"value": 1}, "9" * 5000, 0),
    ],
)
def test_numbers_as_they_are_written(stated: dict[str, Any], answer: str, wanted: int) -> None:
    assert score(make(kind="numeric", **stated), answer, found) == wanted


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ('{"name": "Ada", "age": 36}', 1),
        ('```json\n{"name": "Ada", "age": 36}\n```', 1),
        ('\n```\n{"name": "Ada", "age": 36}```\n', 1),
        ('Here: {"name": "Ada", "age": 36}', 0),
        ('{"name": "Ada", "age": "36"}', 0),
        ('{"name": "Ada", "age": -1}', 0),
        ('{"name": "Ada", "age": true}', 0),
        ('{"name": "Ada", "age": NaN}', 0),
        ('{"name": "Ada"}', 0),
        ('{"name": "Ada", "age": 36, "more": 1}', 0),
        ("[" * 100_000, 0),
        ("", 0),
    ],
    ids=lambda value: str(value)[:30],
)
def test_json_of_a_shape(answer: str, wanted: int) -> None:
    assert score(make(kind="json_schema", shape=SHAPE), answer, found) == wanted


@pytest.mark.parametrize(
    ("shape", "answer", "wanted"),
    [
        ({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3}, '["a", "b"]', 1),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3}, '["a"]', 0),
        ({"type": "array", "items": {"type": "string"}}, '["a", 1]', 0),
        ({"type": ["string", "null"], "minLength": 2}, "null", 1),
        ({"type": ["string", "null"], "minLength": 2}, '"a"', 0),
        ({"enum": ["a", 1]}, "true", 0),
        ({"enum": ["a", 1]}, "1.0", 1),
        ({"const": {"a": [1]}}, '{"a": [1]}', 1),
        ({"const": {"a": [1]}}, '{"a": [true]}', 0),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]}, '"a"', 1),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]}, "1.5", 0),
        ({"type": "object", "additionalProperties": {"type": "number", "maximum": 5}}, '{"a": 6}', 0),
        ({"type": "object", "additionalProperties": {"type": "number", "maximum": 5}}, '{"a": 5}', 1),
    ],
)
def test_words_of_a_shape(shape: dict[str, Any], answer: str, wanted: int) -> None:
    assert score(make(kind="json_schema", shape=shape), answer, found) == wanted


def test_what_can_not_be_said_is_no_score() -> None:
    assert score(make(kind="regex", pattern="late"), "x", found) is None
    assert score(make(kind="judge", model="other", question="Is it kind?"), "x", found) is None


def test_a_prompts_score_is_the_weighted_mean_of_what_could_be_said() -> None:
    checks = [make(kind="exact", text="a", weight=3), make(kind="exact", text="b"), make(kind="regex", pattern="late")]
    assert weighed(checks, [1.0, 0.0, None]) == pytest.approx(0.75)
    assert weighed(checks, [None, 0.5, None]) == pytest.approx(0.5)
    assert weighed(checks, [None, None, None]) is None
