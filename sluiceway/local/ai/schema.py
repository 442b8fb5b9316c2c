"""Makes a small valid instance of a JSON schema: what a tool call's arguments or JSON mode must be.

Deterministic: values come from ``words``, which the caller derives from the request. Understands types
(also lists of types), enum, const, default, anyOf/oneOf/allOf, $ref into the same schema, required and
optional properties, array and number bounds, string length and the common formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_DEPTH = 12
_FORMATS = {
    "date": "2026-01-15",
    "date-time": "2026-01-15T12:00:00Z",
    "time": "12:00:00Z",
    "email": "person@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}


def instance(schema: Mapping[str, Any], words: Sequence[str]) -> object:
    """A value that is valid under ``schema``; ``words`` (not empty) fill its free strings."""
    return _Maker(schema, words).make(schema, 0, "value")


class _Maker:
    def __init__(self, root: Mapping[str, Any], words: Sequence[str]) -> None:
        self._root = root
        self._words = words
        self._used = 0

    def make(self, schema: object, depth: int, name: str) -> object:
        if not isinstance(schema, Mapping) or depth > _DEPTH:
            return None
        schema = self._resolved(schema, depth)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        if schema.get("enum"):
            return schema["enum"][0]
        kind = self._kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            items = schema.get("prefixItems") or [schema.get("items", {"type": "string"})] * _length(schema)
            return [self.make(item, depth + 1, name) for item in items]
        return self._scalar(kind, schema, name)

    def _resolved(self, schema: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
        seen = 0
        while "$ref" in schema and seen < _DEPTH:
            schema = {**self._target(str(schema["$ref"])), **{k: v for k, v in schema.items() if k != "$ref"}}
            seen += 1
        for part in schema.get("allOf", ()):
            schema = _merged(schema, self._resolved(part, depth + 1))
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                # The last branches are tried only when the first is null: an optional value is shown filled.
                branch = next((each for each in schema[key] if each.get("type") != "null"), schema[key][0])
                schema = _merged(schema, self._resolved(branch, depth + 1))
        return schema

    def _target(self, reference: str) -> Mapping[str, Any]:
        found: Any = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            if part:
                found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, Mapping) else {}

    @staticmethod
    def _kind(schema: Mapping[str, Any]) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
        return str(kind)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        # Beyond a few levels only what must be there, so that a schema that holds itself comes to an end.
        wanted = [name for name in properties if name in required or depth < 3]
        made = {name: self.make(properties[name], depth + 1, name) for name in wanted}
        for name in required:
            made.setdefault(name, self._word())
        return made

    def _scalar(self, kind: str, schema: Mapping[str, Any], name: str) -> object:
        if kind in ("number", "integer"):
            return _number(schema, whole=kind == "integer")
        if kind in ("boolean", "null"):
            return True if kind == "boolean" else None
        text = _FORMATS.get(str(schema.get("format", "")), self._word())
        text = text.ljust(int(schema.get("minLength", 0)), "x")
        return text[: int(schema["maxLength"])] if "maxLength" in schema else text

    def _word(self) -> str:
        word = self._words[self._used % len(self._words)]
        self._used += 1
        return word


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    merged = {key: value for key, value in base.items() if key not in ("allOf", "anyOf", "oneOf")}
    for key, value in more.items():
        if key == "properties":
            merged[key] = {**merged.get(key, {}), **value}
        elif key == "required":
            merged[key] = [*merged.get(key, ()), *value]
        else:
            merged.setdefault(key, value)
    return merged


def _length(schema: Mapping[str, Any]) -> int:
    return max(int(schema.get("minItems", 0)), min(1, int(schema.get("maxItems", 1))))


def _number(schema: Mapping[str, Any], *, whole: bool) -> float | int:
    step = 1 if whole else 0.5
    value: float | int = 1 if whole else 1.0
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("exclusiveMinimum") is not None:
        low = schema["exclusiveMinimum"] + step
    if schema.get("exclusiveMaximum") is not None:
        high = schema["exclusiveMaximum"] - step
    if low is not None and value < low:
        value = low
    if high is not None and value > high:
        value = high
    multiple = schema.get("multipleOf")
    if multiple:
        value = -(-value // multiple) * multiple
    return int(value) if whole else value
