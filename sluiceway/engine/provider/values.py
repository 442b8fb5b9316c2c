"""Values as they travel between engine and plugin, in plain Python.

The SDK's PropertyValue reads an unknown as an ordinary string and can't write one, so the marks
that matter here, unknown and secret, are kept as types of our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.runtime import rpc

Value: TypeAlias = Any
"""None, bool, int, float, str, list or dict of values, ``UNKNOWN`` or a ``Secret``."""

Props: TypeAlias = dict[str, Value]


class Unknown:
    """What is known only once another resource exists (in previews)."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value that the engine encrypts in its state. Its text is kept out of ``repr``."""

    value: Value

    def __repr__(self) -> str:
        return "Secret(...)"


def decode(value: PropertyValue) -> Value:
    """From the engine. Whole numbers come back as int."""
    inner: Value = value.value
    if isinstance(inner, str):
        inner = UNKNOWN if inner == rpc.UNKNOWN else inner
    elif isinstance(inner, float):
        inner = int(inner) if inner.is_integer() else inner
    elif isinstance(inner, Mapping):
        inner = {key: decode(item) for key, item in inner.items()}
    elif isinstance(inner, tuple):
        inner = [decode(item) for item in inner]
    return Secret(inner) if value.is_secret else inner


def encode(value: Value) -> PropertyValue:
    """To the engine."""
    if isinstance(value, Secret):
        return encode(value.value).with_secret(True)
    if isinstance(value, Unknown):
        return PropertyValue(rpc.UNKNOWN)
    if isinstance(value, int) and not isinstance(value, bool):
        return PropertyValue(float(value))
    if isinstance(value, Mapping):
        return PropertyValue({key: encode(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return PropertyValue([encode(item) for item in value])
    return PropertyValue(value)


def decode_map(values: Mapping[str, PropertyValue]) -> Props:
    """Properties of a resource, without the ``__`` keys that bridged providers keep for themselves."""
    return {key: decode(item) for key, item in values.items() if not key.startswith("__")}


def encode_map(values: Mapping[str, Value]) -> dict[str, PropertyValue]:
    return {key: encode(item) for key, item in values.items()}


def reveal(value: Value) -> Value:
    """The same value without secret marks: for requests and comparisons, never for state or text."""
    if isinstance(value, Secret):
        return reveal(value.value)
    if isinstance(value, dict):
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item) for item in value]
    return value


def has_unknown(value: Value) -> bool:
    if isinstance(value, Secret):
        return has_unknown(value.value)
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return isinstance(value, Unknown)


def mark_like(value: Value, like: Value) -> Value:
    """``value`` with a secret mark wherever ``like`` has one at the same place, and on the same texts
    wherever these have gone: a list that lost an item has moved all others."""
    texts = frozenset(text for text in secret_texts(like) if len(text) >= _TELLING)
    return _mark_texts(_mark_places(value, like), texts)


_TELLING = 8
"""Characters from which on a text is taken for the same secret; shorter ones may be there by chance."""


def _mark_places(value: Value, like: Value) -> Value:
    if isinstance(value, Secret):
        return value
    if isinstance(like, Secret):
        return value if value is None else Secret(reveal(value))
    if isinstance(value, dict) and isinstance(like, dict):
        return {key: _mark_places(item, like.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(like, list):
        padded = [*like, *[None] * max(0, len(value) - len(like))]
        return [_mark_places(item, other) for item, other in zip(value, padded, strict=False)]
    return value


def _mark_texts(value: Value, texts: frozenset[str]) -> Value:
    if not texts:
        return value
    if isinstance(value, dict):
        return {key: _mark_texts(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_mark_texts(item, texts) for item in value]
    return Secret(value) if isinstance(value, str) and value in texts else value


def secret_texts(value: Value, inside: bool = False) -> Iterator[str]:
    """Every string under a secret mark."""
    if isinstance(value, Secret):
        yield from secret_texts(value.value, True)
    elif isinstance(value, dict):
        for item in value.values():
            yield from secret_texts(item, inside)
    elif isinstance(value, list):
        for item in value:
            yield from secret_texts(item, inside)
    elif inside and isinstance(value, str):
        yield value
