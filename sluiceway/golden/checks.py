"""How well an answer meets a check, from 0 to 1. Pure, but for the search of a pattern, which is handed in."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from sluiceway.golden.json_schema import is_valid
from sluiceway.golden.model import Check, Contains, Exact, JsonSchema, Judge, MaxLength, NotContains, Numeric, Regex

Found = Callable[[str, str], bool | None]
"""Whether a pattern is found in a text; None when that took too long."""

# 1,234.5 and 1234.5 and 1e3; a minus behind a letter or a digit is a hyphen or a difference, and digits behind a
# letter are a name. Chinese characters are no letters here: numbers stand right behind them.
_NUMBER: Final = re.compile(
    r"(?<![0-9A-Za-z_.])-?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
)
_FENCE: Final = "```"


def score(check: Check, answer: str, found: Found) -> float | None:
    """0 or 1; None for what can't be said here: a judge's score, or a pattern that took too long."""
    if isinstance(check, Judge):
        return None
    if isinstance(check, Regex):
        hit = found(check.pattern, answer)
        return None if hit is None else float(hit)
    return float(_holds(check, answer))


def weighed(checks: Sequence[Check], scores: Sequence[float | None]) -> float | None:
    """The mean of those scores that there are, by the checks' weights; None without any."""
    told = [(check.weight, each) for check, each in zip(checks, scores, strict=True) if each is not None]
    total = sum(weight for weight, _ in told)
    return sum(weight * each for weight, each in told) / total if told else None


def _holds(check: Contains | NotContains | Exact | Numeric | JsonSchema | MaxLength, answer: str) -> bool:
    if isinstance(check, Contains):
        return _has_any(check, answer)
    if isinstance(check, NotContains):
        return not _has_any(check, answer)
    if isinstance(check, Exact):
        return any(_plain(text.strip(), check.case) == _plain(answer.strip(), check.case) for text in check.text)
    if isinstance(check, Numeric):
        return any(abs(number - check.value) <= check.tolerance for number in _picked(check, answer))
    if isinstance(check, JsonSchema):
        return _is_json_of(answer, check.shape)
    return len(answer.strip()) <= check.characters


def _has_any(check: Contains | NotContains, answer: str) -> bool:
    inside = _plain(answer, check.case)
    return any(_plain(text, check.case) in inside for text in check.text)


def _plain(text: str, case: bool) -> str:
    """Without the difference between full and half width, and between capitals and small letters."""
    wide = unicodedata.normalize("NFKC", text)
    return wide if case else wide.casefold()


def _picked(check: Numeric, answer: str) -> list[float]:
    numbers = list(_numbers(answer))
    return {"any": numbers, "first": numbers[:1], "last": numbers[-1:]}[check.pick]


def _numbers(text: str) -> Iterator[float]:
    # A minus may be typed as U+2212; models like to.
    plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    for match in _NUMBER.finditer(plain):
        yield float(match[0].replace(",", ""))


def _is_json_of(answer: str, shape: dict[str, Any]) -> bool:
    try:
        value = json.loads(_unfenced(answer.strip()), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return is_valid(value, shape)


def _unfenced(text: str) -> str:
    """What stands in a fence that is all of ``text``; else ``text``."""
    first, _, rest = text.partition("\n")
    if first.startswith(_FENCE) and rest.endswith(_FENCE):
        return rest.removesuffix(_FENCE)
    return text


def _no_constant(name: str) -> object:
    raise ValueError(name)
