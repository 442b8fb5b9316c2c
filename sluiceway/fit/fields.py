"""Takes values out of a config.json that somebody else wrote: each of its kind and of a size that can be real."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sluiceway.errors import UserError

MOST: Final = 10_000_000
MOST_LAYERS: Final = 2_000


class Fields:
    """One object of the file. ``path`` is where it stood; a key that holds null counts as left out."""

    def __init__(self, values: Mapping[str, Any], path: str, prefix: str = "") -> None:
        self._values = values
        self._path = path
        self._prefix = prefix

    def whole(self, *names: str, default: int | None = None, low: int = 1, high: int = MOST) -> int:
        """The whole number under the first of ``names`` that is there. UserError when it is missing or no size."""
        for name in names:
            value = self._values.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise self.bad(name, "is a whole number", value)
            if not low <= value <= high:
                raise self.bad(name, f"is from {low:,} to {high:,}", value)
            return value
        if default is None:
            raise self.missing(*names)
        return default

    def flag(self, name: str, default: bool) -> bool:
        value = self._values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.bad(name, "is true or false", value)
        return value

    def text(self, *names: str, default: str = "") -> str:
        for name in names:
            value = self._values.get(name)
            if value is None:
                continue
            if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
                raise self.bad(name, "is a text of 1 to 200 characters", value)
            return value
        return default

    def block(self, name: str) -> Fields | None:
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.bad(name, "is an object", value)
        return Fields(value, self._path, f"{self._prefix}{name}.")

    def blocks(self) -> list[Fields]:
        """Every member that is an object."""
        return [found for name in self._values if isinstance(self._values[name], dict) and (found := self.block(name))]

    def listed(self, name: str, kind: type[str] | type[int]) -> list[Any] | None:
        """A list of texts or of whole numbers, at most as many as layers can be."""
        value = self._values.get(name)
        if value is None:
            return None
        what = "texts" if kind is str else "whole numbers"
        good = isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)
        if not good or len(value) > MOST_LAYERS:
            raise self.bad(name, f"is a list of at most {MOST_LAYERS:,} {what}", value)
        return list(value)

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def raw(self, name: str) -> object:
        return self._values.get(name)

    def under(self, outer: Fields, *names: str) -> Fields:
        """Itself, with ``names`` of ``outer`` where it has none of its own."""
        inherited = {name: outer._values[name] for name in names if outer.has(name) and not self.has(name)}
        return Fields({**self._values, **inherited}, self._path, self._prefix)

    def bad(self, name: str, rule: str, got: object) -> UserError:
        shown = repr(got)
        short = got if len(shown) <= 60 else f"{shown[:57]}..."
        hint = "take the config.json as its makers published it"
        return UserError(rule, path=f"{self._path}: {self._prefix}{name}", got=short, hint=hint)

    def missing(self, *names: str) -> UserError:
        hint = "give the config.json of the whole model, as its makers published it"
        either = " or ".join(f"{self._prefix}{name}" for name in names)
        return UserError(f"{either} is missing, and the size can't be told without it", path=self._path, hint=hint)
