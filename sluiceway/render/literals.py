"""Writes values as literals of TypeScript, JSON and TOML, so that a value never becomes code.

Every function here returns a `Literal`, the only thing that a template may print.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence

import tomli_w

from sluiceway.errors import SluicewayError
from sluiceway.render.outputs import is_output

# Beyond this a JavaScript number (and wrangler's TOML reader) is no longer exact.
SAFE_INTEGER = 2**53 - 1

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")

# `<` ends a script element or opens a comment inside one; the two separators end a line in older
# parsers and in tools that count lines.
_UNSAFE_IN_SCRIPT = {"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Literal(str):
    """Text that is known to be a literal of the language being written."""

    __slots__ = ()


def to_json(value: object, path: str = "value") -> Literal:
    """``value`` as an expression of JSON that is also one of TypeScript.

    Raises SluicewayError naming the place of what has no literal: NaN, bytes, an Output, a lone
    surrogate, a key that is no text.
    """
    return Literal(_json(value, path))


def to_toml(value: object) -> Literal:
    """A mapping as a TOML document, anything else as the literal of one value.

    The text is read back and compared value by value before it is returned.
    """
    _check(value, "value")
    document = value if isinstance(value, Mapping) else {"v": value}
    try:
        text = tomli_w.dumps(document)
    except (TypeError, ValueError) as fault:
        raise SluicewayError(f"can't be written as TOML: {fault}") from fault
    differs = _difference(tomllib.loads(text), document, "value")
    if differs is not None:
        raise SluicewayError("reads back from TOML as something else", path=differs)
    return Literal(text if document is value else text.removeprefix("v = ").rstrip("\n"))


def to_identifier(value: object) -> Literal:
    """``value`` as a name in TypeScript; raises SluicewayError if it is not one."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise SluicewayError("is not a name in TypeScript", got=value, hint="letters, digits, _ and $ only")
    return Literal(value)


def _json(value: object, path: str) -> str:
    if isinstance(value, Mapping):
        _check_keys(value, path)
        return "{" + ", ".join(f"{_key(k)}: {_json(v, f'{path}.{k}')}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return "[" + ", ".join(_json(item, f"{path}[{index}]") for index, item in enumerate(value)) + "]"
    _check_scalar(value, path)
    return _script_safe(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _key(key: str) -> str:
    # A plain "__proto__" key would set the prototype of the object instead of a property.
    text = _script_safe(json.dumps(key, ensure_ascii=False))
    return f"[{text}]" if key == "__proto__" else text


def _script_safe(text: str) -> str:
    for raw, escaped in _UNSAFE_IN_SCRIPT.items():
        text = text.replace(raw, escaped)
    return text


def _check(value: object, path: str) -> None:
    """Like `_json`'s checks, for TOML, which has no null besides."""
    if isinstance(value, Mapping):
        _check_keys(value, path)
        for key, child in value.items():
            _check(child, f"{path}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        for index, child in enumerate(value):
            _check(child, f"{path}[{index}]")
    elif value is None:
        raise SluicewayError("TOML has no null", path=path, hint="leave the key out")
    else:
        _check_scalar(value, path)


def _check_keys(value: Mapping[object, object], path: str) -> None:
    for key in value:
        if not isinstance(key, str):
            raise SluicewayError("a key must be text", path=path, got=key)
        _check_text(key, path)


def _check_scalar(value: object, path: str) -> None:
    if is_output(value):
        raise SluicewayError("is a Pulumi Output, not a value", path=path, hint="render inside Output.apply")
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise SluicewayError("has no literal", path=path, got=value)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
        raise SluicewayError("is too large to be exact in JavaScript", path=path, got=value)
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise SluicewayError(f"a {type(value).__name__} has no literal", path=path)


def _check_text(text: str, path: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        raise SluicewayError("holds half of a surrogate pair", path=path, got=text) from fault


def _difference(read: object, meant: object, path: str) -> str | None:
    """The path of the first value that differs, types included, or None."""
    if isinstance(meant, Mapping):
        if not isinstance(read, Mapping) or read.keys() != meant.keys():
            return path
        return _first(_difference(read[key], meant[key], f"{path}.{key}") for key in meant)
    if isinstance(meant, Sequence) and not isinstance(meant, str):
        if not isinstance(read, list) or len(read) != len(meant):
            return path
        return _first(_difference(r, m, f"{path}[{i}]") for i, (r, m) in enumerate(zip(read, meant, strict=True)))
    same_type = isinstance(meant, str) if isinstance(read, str) else type(read) is type(meant)
    return None if same_type and read == meant else path


def _first(paths: Iterable[str | None]) -> str | None:
    return next((path for path in paths if path is not None), None)
