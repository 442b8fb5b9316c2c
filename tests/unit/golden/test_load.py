"""A mistake in a file of golden prompts is told with its file, line and path."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sluiceway import catalog
from sluiceway.catalog import Catalog
from sluiceway.errors import UserError
from sluiceway.golden.load import Golden, load, load_all
from sluiceway.golden.model import Judge, Numeric
from sluiceway.workspace import Workspace

GOOD: dict[str, Any] = {
    "id": "fact-en-01",
    "language": "en",
    "topic": "facts",
    "prompt": "What is the capital of France?",
    "checks": [{"kind": "contains", "text": "Paris"}],
}
KNOWN = catalog.load(Workspace(Path(__file__).resolve().parents[3]))
OTHER = Catalog((*KNOWN.models, KNOWN.models[0].__class__("chat-large", "chat", False, KNOWN.models[0].versions)))
Read = Callable[..., Golden]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def write(text: str | bytes, model: str = "chat", known: Catalog = KNOWN) -> Golden:
        path = tmp_path / "chat.jsonl"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load(path, "models/golden/chat.jsonl", model, known)

    return write


def line(**changed: Any) -> str:  # noqa: ANN401
    return json.dumps({name: value for name, value in {**GOOD, **changed}.items() if value is not None}) + "\n"


def check(**stated: Any) -> str:  # noqa: ANN401
    return line(checks=[stated])


def test_a_line_becomes_a_prompt_with_its_place(read: Read) -> None:
    second = line(
        id="b", prompt=None, messages=[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        json_mode=True, max_tokens=20, temperature=0, checks=[{"kind": "numeric", "value": 3, "weight": 2}],
    )  # fmt: skip
    golden = read(f"\ufeff{line()}\n{second}")
    assert [prompt.where for prompt in golden.prompts] == ["models/golden/chat.jsonl:1", "models/golden/chat.jsonl:3"]
    first, other = golden.prompts
    assert first.messages == ({"role": "user", "content": "What is the capital of France?"},)
    assert first.request == {}
    assert [message["role"] for message in other.messages] == ["system", "user"]
    assert other.request == {"max_tokens": 20, "temperature": 0, "response_format": {"type": "json_object"}}
    (numeric,) = other.checks
    assert isinstance(numeric, Numeric)
    assert (numeric.value, numeric.tolerance, numeric.pick, numeric.weight) == (3, 0, "any", 2)


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        ("", ": there is no prompt in it", "one JSON object a line"),
        ("[1]", ":1: is no JSON object", "one JSON object a line"),
        (f"{line()}{{'a'}}", ":2:2: not valid JSON", "one JSON object on one line"),
        ('{"id": "a", "id": "b"}', ":1: the key 'id' stands twice", "keep one"),
        ('{"id": NaN}', ":1: NaN is no number", "a plain number"),
        ("[" * 100_000, ":1: not valid JSON", "brackets"),
        (f"{line()}\n{line()}", ":3: this id stands at models/golden/chat.jsonl:1 already", "of its own"),
        (line(prompts="x"), ":1: unknown key 'prompts'", "did you mean 'prompt'?"),
        (line(language=None), ":1: language: is required", "add language"),
        (line(language="English"), ":1: language: is no language's code", "en, zh"),
        (line(id="A b"), ":1: id: is lower-case letters", "fact-en-01"),
        (line(prompt=None), ":1: a line has a prompt or messages", "messages"),
        (line(messages=[{"role": "user", "content": "x"}]), ":1: a line has a prompt or messages", "messages"),
        (line(prompt=None, messages=[{"role": "assistant", "content": "x"}]), ":1: messages[0].role: the last", "end"),
        (line(prompt=None, messages=[{"role": "bot", "content": "x"}]), ":1: messages[0].role: must be one of", "user"),
        (line(prompt=7), ":1: prompt: must be text", "quotes"),
        (line(max_tokens=0), ":1: max_tokens: must be at least 1", "from 1 to 32768"),
        (line(checks=[]), ":1: checks: a prompt has at least one check", "add one"),
        (line(checks={}), ":1: checks: must be a list", "a list"),
        (line(checks=["x"]), ":1: checks[0]: must be a mapping", "a mapping"),
        (line(checks=[GOOD["checks"][0], {}]), ":1: checks[1].kind: is required", "contains"),
        (check(kind="contain"), ":1: checks[0].kind: is no kind of check", "did you mean contains?"),
        (check(kind=["contains"]), ":1: checks[0].kind: is no kind of check", "contains"),
        (check(kind="contains"), ":1: checks[0].text: is required", "a list of texts"),
        (check(kind="contains", text=[]), ":1: checks[0].text: must not be empty", "text"),
        (check(kind="contains", text=[""]), ":1: checks[0].text[0]: must not be empty", "text"),
        (check(kind="contains", text="x", weight=0), ":1: checks[0].weight: must be at least 0.01", "0.01 to 100"),
        (check(kind="contains", text="x", txt="y"), ":1: checks[0]: unknown key 'txt'", "did you mean 'text'?"),
        (check(kind="regex", pattern="("), ":1: checks[0].pattern: is no regular expression", "mend it"),
        (check(kind="regex", pattern="a" * 1001), ":1: checks[0].pattern: must have at most 1000", "shorten"),
        (check(kind="numeric", value="3"), ":1: checks[0].value: must be a number", "without quotes"),
        (check(kind="numeric", value=True), ":1: checks[0].value: must be a number", "a number"),
        (check(kind="numeric", value=3, tolerance=-1), ":1: checks[0].tolerance: must be at least 0", "0 or more"),
        (check(kind="numeric", value=3, pick="all"), ":1: checks[0].pick: must be one of", "any"),
        (check(kind="json_schema", shape={"pattern": "x"}), ":1: checks[0].shape: a schema can't say", "type"),
        (check(kind="json_schema", shape={"type": "text"}), ":1: checks[0].shape: type can't be this", "JSON Schema"),
        (
            check(kind="json_schema", shape={"properties": {"a": {"items": {"minItems": True}}}}),
            ":1: checks[0].shape: minItems can't be this",
            "JSON Schema",
        ),
        (check(kind="max_length", characters=1.5), ":1: checks[0].characters: must be a whole number", "whole number"),
        (check(kind="judge", model="chat", question="?"), ":1: checks[0].model: a judge is another model", "add such"),
        (check(kind="judge", model="embed", question="?"), ":1: checks[0].model: a judge is another model", "add such"),
        (check(kind="judge", model="nope", question="?"), ":1: checks[0].model: there is no model", "known models"),
        (check(kind="judge", model="Big", question="?"), ":1: checks[0].model: a model's name", "chat"),
        (b"\n\xff", ":2: isn't UTF-8 at byte 1", "UTF-8"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line_and_path(read: Read, text: str | bytes, told: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        read(text)
    assert str(caught.value).startswith(f"models/golden/chat.jsonl{told}"), str(caught.value)
    assert hint in str(caught.value.hint)


def test_another_chat_model_may_judge(read: Read) -> None:
    stated = {"kind": "judge", "model": "chat-large@1", "question": "Is it polite?"}
    (prompt,) = read(check(**stated), known=OTHER).prompts
    assert prompt.judges == (Judge(kind="judge", model="chat-large@1", question="Is it polite?"),)
    with pytest.raises(UserError, match=r"checks\[0\]\.model: there is no model version chat-large@9"):
        read(check(**{**stated, "model": "chat-large@9"}), known=OTHER)


def test_only_chat_models_have_golden_prompts(read: Read) -> None:
    with pytest.raises(UserError, match="embed answers no prompts: its task is embed"):
        read(line(), "embed")
    with pytest.raises(UserError, match="there is no model 'chatt'"):
        read(line(), "chatt")


def test_all_files_of_the_folder_are_read_and_no_folder_is_none(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert load_all(workspace, KNOWN) == ()
    folder = tmp_path / "models" / "golden"
    folder.mkdir(parents=True)
    (folder / "chat.jsonl").write_text(line(), "utf-8")
    (golden,) = load_all(workspace, KNOWN)
    assert (golden.model, golden.source, len(golden.prompts)) == ("chat", "models/golden/chat.jsonl", 1)
    (folder / "chat.json").write_text("{}", "utf-8")
    with pytest.raises(UserError, match=r"models/golden/chat\.json: is no \.jsonl file"):
        load_all(workspace, KNOWN)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"golden/x\.jsonl: can't be read: No such file") as caught:
        load(tmp_path / "x.jsonl", "golden/x.jsonl", "chat", KNOWN)
    assert "models/golden/<model>.jsonl" in str(caught.value.hint)
