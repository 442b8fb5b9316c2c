"""Says in our words what pydantic found, with the path that the person sees in the file."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from sluiceway.domain.fault import NOTHING, Fault
from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError

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
    location = tuple(part for part in found["loc"] if part != "[key]")
    message, got, hint = _words(found["type"], found.get("ctx", {}), found["input"])
    path = where(dotted(location))
    if found["type"] == "extra_forbidden":
        known = keys_at(model, location[:-1])
        message, got = f"unknown key {str(location[-1])!r}", NOTHING
        near = nearest(str(location[-1]), known)
        path = where(dotted(location[:-1]))
        hint = f"did you mean {near!r}?" if near else f"known keys: {', '.join(known)}"
    elif found["type"] == "missing":
        got = NOTHING
    if got is NOTHING:
        return UserError(message, path=path, hint=hint)
    return UserError(message, path=path, got=_Brief(got), hint=hint)


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


def keys_at(model: type[BaseModel], location: Sequence[str | int]) -> tuple[str, ...]:
    """The keys that a mapping at ``location`` may have."""
    at: Any = model
    for part in location:
        if isinstance(at, type) and issubclass(at, BaseModel) and part in at.model_fields:
            at = at.model_fields[str(part)].annotation
        at = _model_in(at) or at
    return tuple(at.model_fields) if isinstance(at, type) and issubclass(at, BaseModel) else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - annotations have no type of their own
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        if found := _model_in(argument):
            return found
    return None


def _words(kind: str, context: dict[str, Any], value: object) -> tuple[str, object, str | None]:
    cause = context.get("error")
    if isinstance(cause, Fault):
        return cause.message, cause.got, cause.hint
    if kind == "missing":
        return "is required", NOTHING, None
    if kind in _TYPES:
        return _TYPES[kind], value, _type_hint(kind, value)
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']:.12g}", value, None
    if kind == "less_than_equal":
        return f"must be at most {context['le']:.12g}", value, None
    if kind == "literal_error":
        return f"must be one of {context['expected'].replace(chr(39), '').replace(' or ', ', ')}", value, None
    if kind == "string_pattern_mismatch":
        return f"must match {context['pattern']}", value, None
    return str(context.get("error", kind)), value, None


def _type_hint(kind: str, value: object) -> str | None:
    if kind == "string_type" and isinstance(value, int | float):
        return "put it in quotes, or YAML reads it as a number"
    if kind == "bool_type" and isinstance(value, str):
        return "write true or false, without quotes"
    if kind in ("int_type", "float_type") and isinstance(value, str):
        return "write the number without quotes"
    return None
