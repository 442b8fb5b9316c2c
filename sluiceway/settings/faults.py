"""Says in our words what pydantic found, with the path that the person sees in the file and what to write there."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from sluiceway.domain.fault import NOTHING, Fault
from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError
from sluiceway.settings.takes import keys_at, takes

_TYPES = {
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "tuple_type": "must be a list",
    "mapping_type": "must be a mapping",
    "model_type": "must be a mapping",
    "dict_type": "must be a mapping",
}


def dotted(location: Sequence[str | int]) -> str:
    """``("models", "chat", "split", 0)`` -> ``models.chat.split[0]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def told(error: ValidationError, model: type[BaseModel], where: Callable[[str], str]) -> UserError:
    """The first fault as a UserError; ``where(path)`` makes its path from the dotted path of the value."""
    found = error.errors()[0]
    kind, value = found["type"], found["input"]
    location = tuple(part for part in found["loc"] if part != "[key]")
    path = where(dotted(location))
    if kind == "extra_forbidden":
        return _unknown(str(location[-1]), keys_at(model, location[:-1]), where(dotted(location[:-1])))
    if kind == "missing":
        return UserError("is required", path=path, hint=f"add {location[-1]}: {takes(model, location)}")
    cause = found.get("ctx", {}).get("error")
    if not isinstance(cause, Fault):
        rule = _rule(kind, found.get("ctx", {}))
        return UserError(rule, path=path, got=_Brief(value), hint=_hint(kind, value, takes(model, location)))
    path = where(dotted(location) + cause.at)
    if cause.got is NOTHING:
        return UserError(cause.message, path=path, hint=cause.hint)
    return UserError(cause.message, path=path, got=_Brief(cause.got), hint=cause.hint)


def _unknown(key: str, known: Sequence[str], path: str) -> UserError:
    near = nearest(key, tuple(known))
    return UserError(
        f"unknown key {key!r}",
        path=path,
        hint=f"did you mean {near!r}?" if near else f"known keys: {', '.join(known)}",
    )


class _Brief:
    """A value that prints itself in a line, however large it is."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        if isinstance(self._value, str):
            return repr(_cut(self._value))
        return _cut(reprlib.repr(self._value))


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def _rule(kind: str, context: dict[str, Any]) -> str:
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']:.12g}"
    if kind == "less_than_equal":
        return f"must be at most {context['le']:.12g}"
    if kind == "literal_error":
        return f"must be one of {context['expected'].replace(chr(39), '').replace(' or ', ', ')}"
    if kind in ("string_too_short", "too_short"):
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"must have at least {least} {_parts(kind)}"
    if kind in ("string_too_long", "too_long"):
        return f"must have at most {context['max_length']} {_parts(kind)}"
    return str(context.get("error", kind))


def _parts(kind: str) -> str:
    return "characters" if kind.startswith("string") else "entries"


def _hint(kind: str, value: object, wanted: str) -> str:
    """What to do about a value of the wrong kind: how to spell it where that is likely the fault, else what goes."""
    if kind == "string_type" and isinstance(value, int | float):
        return "put it in quotes, or YAML reads it as a number"
    if kind == "bool_type" and isinstance(value, str):
        return "write true or false, without quotes"
    if _TYPES.get(kind, "").endswith("number") and isinstance(value, str) and re.fullmatch(r"-?[0-9.]+", value):
        return "write the number without quotes"
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        return f"it is no valid JSON, so it was read as text: write {wanted}"
    if kind.endswith("too_long"):
        return "shorten it"
    if kind == "literal_error" and (near := nearest(str(value), wanted.removeprefix("one of ").split(", "))):
        return f"did you mean {near}?"
    if kind == "tuple_type" and isinstance(value, str):
        return f"put it in brackets: [{_cut(json.dumps(value, ensure_ascii=False))}]"
    return f"write {wanted}"
