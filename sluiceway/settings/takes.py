"""What may stand at a place in a file, in words, read from the type that its model declares."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

# Annotations and what is attached to them have no type of their own.
Kind = Any
_WORDS = {bool: "true or false", str: "text"}


def takes(model: type[BaseModel], location: Sequence[str | int]) -> str:
    """``("cache", "ttl")`` -> ``a whole number from 60 to 2592000``."""
    kind, notes = _at(model, location)
    described = next((note.description for note in notes if isinstance(note, FieldInfo) and note.description), None)
    if described:
        return str(described)
    if _origin(kind) is Literal:
        return f"one of {', '.join(str(word) for word in get_args(kind))}"
    if kind in (int, float):
        return f"a {'whole ' * (kind is int)}number{_range(notes)}"
    if _is_model(kind):
        return f"a mapping with keys of {', '.join(kind.model_fields)}"
    if _origin(kind) is tuple:
        return f"a list; each entry is {takes(model, [*location, 0])}"
    return _WORDS.get(kind, "a mapping, a name and its value on each line")


def keys_at(model: type[BaseModel], location: Sequence[str | int]) -> tuple[str, ...]:
    """The keys that the mapping at ``location`` may have."""
    kind, _ = _at(model, location)
    return tuple(kind.model_fields) if _is_model(kind) else ()


def _at(model: type[BaseModel], location: Sequence[str | int]) -> tuple[Kind, list[Kind]]:
    """The plain type at ``location``, and what is attached to it."""
    kind: Kind = model
    notes: list[Kind] = []
    for part in location:
        if _is_model(kind) and part in kind.model_fields:
            kind, notes = _bare(kind.model_fields[part].annotation, kind.model_fields[part])
        elif _origin(kind) is tuple:
            kind, notes = _bare(get_args(kind)[0])
        elif _origin(kind) is Mapping:
            kind, notes = _bare(get_args(kind)[1])
    return kind, notes


def _bare(kind: Kind, *notes: Kind) -> tuple[Kind, list[Kind]]:
    """``Annotated[int, ...] | None`` -> int, and all that is attached on the way."""
    found = list(notes)
    while True:
        if _origin(kind) is Annotated:
            kind, *more = get_args(kind)
            found += more
        elif _origin(kind) in (Union, types.UnionType):
            kind = next(arm for arm in get_args(kind) if arm is not type(None))
        else:
            return kind, found


def _range(notes: list[Kind]) -> str:
    low = next((note.ge for note in _flat(notes) if hasattr(note, "ge")), None)
    high = next((note.le for note in _flat(notes) if hasattr(note, "le")), None)
    if low is None:
        return "" if high is None else f" of at most {high}"
    return f" of {low} or more" if high is None else f" from {low} to {high}"


def _flat(notes: list[Kind]) -> Iterator[Kind]:
    for note in notes:
        yield from note.metadata if isinstance(note, FieldInfo) else [note]


def _origin(kind: Kind) -> Kind:
    return get_origin(kind)


def _is_model(kind: Kind) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
