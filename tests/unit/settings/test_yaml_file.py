from __future__ import annotations

from pathlib import Path

import pytest

from sluiceway.errors import UserError
from sluiceway.settings import yaml_file


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "a: 1\nb: [1,\n",
            "f.yaml:3:1: not valid YAML: expected the node content, but found '<stream end>'",
            "look here and above for a bracket, brace or quote that isn't closed, and for uneven indentation",
        ),
        (
            "a:\n\tb: 1\n",
            "f.yaml:2:1: not valid YAML: found character '\\t' that cannot start any token",
            "indent with spaces, not with tabs",
        ),
        (
            "a: b: c\n",
            "f.yaml:1:5: not valid YAML: mapping values are not allowed here",
            "quote a value that holds a colon, and check the indentation",
        ),
        (
            "a: 1\nb: 2\na: 3\n",
            "f.yaml:3:1: not valid YAML: the key 'a' stands twice, first on line 1",
            "keep one of the two",
        ),
        (
            "x:\n  - {a: 1, a: 1}\n",
            "f.yaml:2:12: not valid YAML: the key 'a' stands twice, first on line 2",
            "keep one of the two",
        ),
        ("1: a\n", "f.yaml:1:1: not valid YAML: the key 1 isn't text", "put the key in quotes"),
        ("- a\n", "f.yaml: must be a mapping at its top", "write key: value, not a list or one value"),
        (
            "a: !!python/object:os.system x\n",
            "f.yaml:1:4: not valid YAML: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object:os.system'",
            "take the tag (!...) out: these files hold plain values",
        ),
        (
            "a: &x [*x]\n",
            "f.yaml:1:4: not valid YAML: found unconstructable recursive node",
            "an alias (*) can't stand inside of what it names: write the value out",
        ),
        (
            "a: \x07\n",
            "f.yaml:1: not valid YAML: the character U+0007 is not allowed",
            'take it out, or write it in double quotes as "\\u0007"',
        ),
        (
            "a: 1\n---\nb: 2\n",
            "f.yaml:2:1: not valid YAML: but found another document",
            "take the line --- out: a file holds one document",
        ),
    ],
)
def test_a_fault_is_told_with_line_and_column(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(UserError) as caught:
        yaml_file.parse(text, "f.yaml")
    assert (str(caught.value), caught.value.hint) == (message, hint)


def test_plain_scalars_are_text_numbers_booleans_or_null() -> None:
    text = "a: [nothing, yes sir, 1.2.3, a_b, -, '012', \"no\"]\nb: [true, FALSE, -7, 0, 1.5, 1e3, ~, null]\nc:\n"
    assert yaml_file.parse(text, "f") == {
        "a": ["nothing", "yes sir", "1.2.3", "a_b", "-", "012", "no"],
        "b": [True, False, -7, 0, 1.5, 1000.0, None, None],
        "c": None,
    }


@pytest.mark.parametrize(
    "value", ["no", "Yes", "off", "y", "012", "0x10", "0o7", "1_000", "1:30", ".inf", ".NaN", "2026-07-01"]
)
def test_a_plain_scalar_that_readers_of_yaml_disagree_on_is_refused(value: str) -> None:
    with pytest.raises(UserError) as caught:
        yaml_file.parse(f"a:\n  - {value}\n", "f")
    assert str(caught.value) == f"f:2:5: not valid YAML: readers of YAML disagree on what {value} means"
    assert yaml_file.parse(f"a: '{value}'", "f") == {"a": value}


def test_an_empty_file_is_an_empty_mapping() -> None:
    assert yaml_file.parse("# only a remark\n", "f") == {}


def test_a_file_that_can_not_be_read_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^f\.yaml: the file doesn't exist$"):
        yaml_file.read(tmp_path / "f.yaml", "f.yaml")
    (tmp_path / "f.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(UserError, match=r"^f\.yaml: isn't UTF-8 at byte 3$"):
        yaml_file.read(tmp_path / "f.yaml", "f.yaml")
    with pytest.raises(UserError, match=r"^f: can't be read: Is a directory$"):
        yaml_file.read(tmp_path, "f")
