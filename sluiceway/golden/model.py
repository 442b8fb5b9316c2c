"""What a line of ``models/golden/<model>.jsonl`` may state, and the prompt that it becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from sluiceway.domain.fault import Fault
from sluiceway.domain.model import check_model_name, parse_ref
from sluiceway.golden.json_schema import check_schema
from sluiceway.settings.fields import Block, Rows, matching

PATTERN_CHARACTERS: Final = 1_000
SHAPE: Final = 'a JSON Schema, like {"type": "object", "required": ["name"]}'
Kind = Literal["contains", "not_contains", "regex", "json_schema", "numeric", "exact", "max_length", "judge"]


def _texts(value: object) -> object:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise Fault(f"is no regular expression of Python's: {error}", got=text, hint="mend it at that place") from None
    return text


def _judge(text: str) -> str:
    if "@" in text:
        parse_ref(text)
    else:
        check_model_name(text)
    return text


_SLUG: Final = "[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?"
Slug = Annotated[
    str,
    AfterValidator(matching(_SLUG, "is lower-case letters, digits and inner hyphens", "write it like fact-en-01")),
]
Language = Annotated[
    str, AfterValidator(matching("[a-z]{2,3}(?:-[A-Z]{2})?", "is no language's code", "write it like en, zh or pt-BR"))
]
Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Texts = Annotated[
    tuple[Text, ...],
    BeforeValidator(_texts),
    Field(min_length=1, max_length=100, description="a text, or a list of texts of which any will do"),
]
Weight = Annotated[float, Field(ge=0.01, le=100)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Check(Block):
    weight: Weight = 1.0


class Contains(_Check):
    """Any of ``text`` stands in the answer. ``case``: capitals matter."""

    kind: Literal["contains"]
    text: Texts
    case: bool = False


class NotContains(_Check):
    """None of ``text`` stands in the answer."""

    kind: Literal["not_contains"]
    text: Texts
    case: bool = False


class Exact(_Check):
    """The answer is one of ``text``, apart from white space around it."""

    kind: Literal["exact"]
    text: Texts
    case: bool = False


class Regex(_Check):
    """``pattern`` is found somewhere in the answer."""

    kind: Literal["regex"]
    pattern: Annotated[str, Field(min_length=1, max_length=PATTERN_CHARACTERS), AfterValidator(_pattern)]


class Numeric(_Check):
    """A number of the answer is ``value``, give or take ``tolerance``: any of them, or the first or last alone."""

    kind: Literal["numeric"]
    value: Number
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    pick: Literal["any", "first", "last"] = "any"


class JsonSchema(_Check):
    """The answer is JSON, in a fence or not, that is valid under the JSON Schema ``shape``."""

    kind: Literal["json_schema"]
    shape: Annotated[dict[str, Any], AfterValidator(check_schema), Field(description=SHAPE)]


class MaxLength(_Check):
    """The answer has at most so many characters."""

    kind: Literal["max_length"]
    characters: Annotated[int, Field(ge=1, le=1_000_000)]


class Judge(_Check):
    """Another model of the stage says from 0 to 1 how well the answer meets ``question``."""

    kind: Literal["judge"]
    model: Annotated[str, AfterValidator(_judge), Field(description="another model or a version, like chat-large@1")]
    question: Text


Check = Contains | NotContains | Exact | Regex | Numeric | JsonSchema | MaxLength | Judge
KINDS: Final[Mapping[str, type[Check]]] = {
    "contains": Contains,
    "not_contains": NotContains,
    "regex": Regex,
    "json_schema": JsonSchema,
    "numeric": Numeric,
    "exact": Exact,
    "max_length": MaxLength,
    "judge": Judge,
}


class Message(Block):
    role: Literal["system", "user", "assistant"]
    content: Text


class Line(Block):
    """One line, its checks not looked at yet. ``json_mode`` asks for JSON as the API has it."""

    id: Slug
    language: Language
    topic: Slug
    prompt: Text | None = None
    messages: Rows[Message] = ()
    max_tokens: Annotated[int, Field(ge=1, le=32_768)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    json_mode: bool = False
    checks: Rows[dict[str, Any]]


@dataclass(frozen=True)
class Prompt:
    """One golden prompt. ``where`` is its file and line; ``request`` what goes to the gateway beside the model."""

    id: str
    where: str
    language: str
    topic: str
    messages: tuple[Mapping[str, str], ...]
    request: Mapping[str, Any]
    checks: tuple[Check, ...]

    @property
    def judges(self) -> tuple[Judge, ...]:
        return tuple(check for check in self.checks if isinstance(check, Judge))
