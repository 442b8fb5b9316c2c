"""Names of properties: ``camelCase`` with the engine, ``snake_case`` (mostly) with Cloudflare."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sluiceway.engine.provider.values import Value

FREE_MAPS = frozenset({"exports", "headers", "metadata"})
"""Properties whose keys are the user's own words and stay as they are."""

_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
_UNDERSCORE = re.compile(r"_([a-z0-9])")


def snake(name: str) -> str:
    return _HUMP.sub(lambda hit: "_" + hit.group(1).lower(), name)


def camel(name: str) -> str:
    return _UNDERSCORE.sub(lambda hit: hit.group(1).upper(), name)


def respell(value: Value, spell: Callable[[str], str], renames: Mapping[str, str], deep: Mapping[str, str]) -> Value:
    """``value`` with every key spelled anew; ``renames`` (old key -> new key) holds for the keys of
    ``value`` itself, ``deep`` for those further inside."""
    if not isinstance(value, dict):
        return _respell_inside(value, spell, deep)
    return {
        renames.get(key, spell(key)): _respell_inside(item, spell, deep, key in FREE_MAPS)
        for key, item in value.items()
    }


def _respell_inside(value: Value, spell: Callable[[str], str], deep: Mapping[str, str], free: bool = False) -> Value:
    if isinstance(value, dict):
        return {
            key if free else deep.get(key, spell(key)): _respell_inside(
                item, spell, deep, not free and key in FREE_MAPS
            )
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_respell_inside(item, spell, deep) for item in value]
    return value
