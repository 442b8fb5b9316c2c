"""The part of JSON Schema that golden prompts use: enough to say what an answer must hold, small enough to know whole.

``type`` (or a list of types), ``enum``, ``const``, ``anyOf``, ``properties``, ``required``, ``additionalProperties``,
``items``, ``minItems``, ``maxItems``, ``minLength``, ``maxLength``, ``minimum``, ``maximum``; ``title`` and
``description`` say nothing. Any other word is refused, since a rule that is passed over would seem to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sluiceway.domain.fault import Fault

_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
_COUNTS: Final = ("minItems", "maxItems", "minLength", "maxLength")
_BOUNDS: Final = ("minimum", "maximum")
_DEPTH: Final = 20


def check_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema`` as it is; a Fault for what is no part of the words above."""
    _check(schema, 0)
    return schema


def _check(schema: object, depth: int) -> None:
    if depth > _DEPTH:
        raise Fault(f"schemas stand at most {_DEPTH} deep in one another", hint="say less of the innermost values")
    if not isinstance(schema, dict):
        raise Fault("a schema is a mapping", got=schema, hint='write it like {"type": "string"}')
    for word, value in schema.items():
        rule = _RULES.get(word)
        if rule is None:
            known = ", ".join(_RULES)
            raise Fault(f"a schema can't say {word!r} here", hint=f"known words: {known}")
        if not rule(value):
            raise Fault(f"{word} can't be this in a schema", got=value, hint="write it as JSON Schema has it")
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        _check(inner, depth + 1)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            _check(schema[word], depth + 1)


def _is_type(value: object) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_RULES: Final[Mapping[str, Callable[[object], bool]]] = {
    "type": _is_type,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "const": lambda _: True,
    "anyOf": lambda value: isinstance(value, list) and bool(value),
    "properties": lambda value: isinstance(value, dict),
    "required": _is_names,
    "additionalProperties": lambda value: isinstance(value, bool | dict),
    "items": lambda value: isinstance(value, dict),
    **dict.fromkeys(_COUNTS, _is_count),
    **dict.fromkeys(_BOUNDS, _is_number),
    "title": lambda value: isinstance(value, str),
    "description": lambda value: isinstance(value, str),
}


def is_valid(value: object, schema: Mapping[str, Any]) -> bool:
    """Whether ``value``, as ``json.loads`` gives it, is valid under a schema that ``check_schema`` let pass."""
    if "type" in schema and not any(_is_of(value, name) for name in _listed(schema["type"])):
        return False
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        return False
    if "const" in schema and not _same(value, schema["const"]):
        return False
    if "anyOf" in schema and not any(is_valid(value, each) for each in schema["anyOf"]):
        return False
    if isinstance(value, dict):
        return _object(value, schema)
    if isinstance(value, list):
        inner = schema.get("items", {})
        return _within(len(value), schema, "minItems", "maxItems") and all(is_valid(each, inner) for each in value)
    if isinstance(value, str):
        return _within(len(value), schema, "minLength", "maxLength")
    return not _is_number(value) or _within(value, schema, "minimum", "maximum")


def _object(value: Mapping[str, object], schema: Mapping[str, Any]) -> bool:
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    if any(name not in value for name in schema.get("required", ())):
        return False
    for name, inner in value.items():
        rule = known.get(name, rest)
        if rule is False or (isinstance(rule, dict) and not is_valid(inner, rule)):
            return False
    return True


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_of(value: object, name: str) -> bool:
    if name == "null":
        return value is None
    if name in ("number", "integer"):
        return _is_number(value) and (name == "number" or float(value).is_integer())  # type: ignore[arg-type]
    return isinstance(value, {"object": dict, "array": list, "string": str, "boolean": bool}[name])


def _same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return one == other


def _within(size: Any, schema: Mapping[str, Any], least: str, most: str) -> bool:  # noqa: ANN401 - a count or number
    return bool(schema.get(least, size) <= size <= schema.get(most, size))
