"""Values become literals, and come back as they were."""

from __future__ import annotations

import json
import tomllib

import pulumi
import pytest

from sluiceway.errors import SluicewayError
from sluiceway.render.literals import to_identifier, to_json, to_toml

HARD_TEXTS = [
    'tok"en',
    "C:\\data\\new",
    "two\nlines\r\nand a tab\t",
    "🦊 𠮷田",
    "a\x7fb\x00c",
    "\\u0041",
    "",
    "'''\"\"\"",
    "\u2028 \u2029 \ufeff",
    "</script><!-- ${x} `id` {{ 7*7 }} \\",
]


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_wr_01_hard_texts_come_back_from_toml(text: str) -> None:
    document = {"vars": {"value": text, text or "empty": [text, {"nested": text}]}}
    assert tomllib.loads(to_toml(document)) == document


def test_wr_01_keys_with_dots_quotes_and_letters_beyond_ascii_come_back() -> None:
    document = {"a.b": "dot", "é": "accent", 'q"uote': "quote", "": "empty", "日 本": {"x.y": 1}}
    assert tomllib.loads(to_toml(document)) == document


@pytest.mark.parametrize("value", [True, False, 0, -1, 1.5, 2**53 - 1, "x", [], ["a", "b"], [1, [2]]])
def test_wr_01_one_value_is_written_as_the_literal_of_a_key(value: object) -> None:
    assert tomllib.loads(f"key = {to_toml(value)}") == {"key": value}


def test_true_and_1_are_told_apart_in_toml() -> None:
    read = tomllib.loads(to_toml({"flag": True, "count": 1, "share": 1.0}))
    assert [type(read[key]) for key in ("flag", "count", "share")] == [bool, int, float]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": None}, "value.a"),
        ({"a": [{"b": float("nan")}]}, "value.a[0].b"),
        ({"a": 2**53}, "value.a"),
        ({"a": b"bytes"}, "value.a"),
        ({"a": "\ud83e"}, "value.a"),
        ({1: "x"}, "value"),
    ],
)
def test_what_toml_cannot_hold_is_refused_with_its_place(value: object, path: str) -> None:
    with pytest.raises(SluicewayError) as caught:
        to_toml(value)
    assert caught.value.path == path


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_wr_08_json_literals_read_back_as_the_same_text(text: str) -> None:
    literal = to_json({"k": text})
    assert json.loads(literal) == {"k": text}
    assert not any(mark in literal for mark in ("<", "\u2028", "\u2029", "\n"))


def test_a_prototype_key_becomes_a_property_and_not_a_prototype() -> None:
    assert to_json({"__proto__": {"admin": True}}) == '{["__proto__"]: {"admin": true}}'


def test_null_is_a_json_literal() -> None:
    assert to_json([None, True, 1.5]) == "[null, true, 1.5]"


@pytest.mark.parametrize("value", [{"a": float("inf")}, {"a": object()}, {"a": "\udc00"}, {"a": 10**20}])
def test_what_has_no_json_literal_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(SluicewayError) as caught:
        to_json(value, "config")
    assert caught.value.path == "config.a"


def test_pu_01_an_output_has_no_literal(output: pulumi.Output[str]) -> None:
    for write in (to_json, to_toml):
        with pytest.raises(SluicewayError, match="Output"):
            write({"id": output})


@pytest.mark.parametrize("name", ["a b", "1a", "", "a;b", "a\n", 7, None])
def test_only_names_are_identifiers(name: object) -> None:
    with pytest.raises(SluicewayError):
        to_identifier(name)
    assert to_identifier("RolloutController") == "RolloutController"
