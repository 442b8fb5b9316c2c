"""What counts as the same, and what is written to state after a call.

The rules come from what Cloudflare's API does with a body: it fills in defaults, drops what is
empty, sorts lists, changes letter case and keeps some fields to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from sluiceway.engine.provider.values import Unknown, Value


@dataclass(frozen=True)
class Rules:
    """How the properties of one resource are compared; names are of leaves, at any depth."""

    keyed: Mapping[str, str] = field(default_factory=dict)
    """Lists whose items are matched by this key, whatever their order: ``{"bindings": "name"}``."""
    sets: frozenset[str] = frozenset()
    """Lists of words whose order means nothing."""
    written_only: frozenset[str] = frozenset()
    """What the API doesn't give back; state keeps what was sent."""
    given_once: frozenset[str] = frozenset()
    """What the server keeps when the program stops giving it: leaving it out is no change."""
    defaults: Mapping[str, Value] = field(default_factory=dict)
    """What a property is set back to when it is left out: leaving out that very value is no change."""
    server: frozenset[str] = frozenset()
    """Keys inside inputs that only the server sets; a program that was read from reality lacks them."""
    silent: frozenset[str] = frozenset()
    """What is never compared, since another property stands for it."""
    canonical: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """Words with several spellings: ``{"location": str.lower}``."""

    def spelled(self, name: str, value: Value) -> Value:
        change = self.canonical.get(name)
        return change(value) if change and isinstance(value, str) else value


def empty(value: Value) -> bool:
    """Missing, null, empty text, empty list and empty object are one and the same to the API."""
    return value is None or value == "" or value == [] or value == {}


def pairs(wanted: list[Value], actual: list[Value], name: str, rules: Rules) -> Iterator[tuple[Value, Value]]:
    """Items that belong together, in the order of ``wanted``; ``None`` stands for a missing one."""
    key = rules.keyed.get(name)
    if key is None:
        for index in range(max(len(wanted), len(actual))):
            yield (
                wanted[index] if index < len(wanted) else None,
                actual[index] if index < len(actual) else None,
            )
        return
    left = list(actual)
    for item in wanted:
        word = _word(item, key, rules)
        match = next((other for other in left if _word(other, key, rules) == word), None)
        if match is not None:
            left.remove(match)
        yield item, match
    for other in left:
        yield None, other


def arranged(wanted: Value, before: Value, rules: Rules, name: str) -> Value:
    """``wanted`` in the order of ``before``, for a list whose order means nothing: then a diff shows
    only what changed."""
    if name not in rules.keyed or not isinstance(wanted, list) or not isinstance(before, list):
        return wanted
    both = list(pairs(before, wanted, name, rules))
    return [new for _, new in both if new is not None]


def _word(item: Value, key: str, rules: Rules) -> Value:
    return rules.spelled(key, item.get(key)) if isinstance(item, dict) else item


def covers(actual: Value, wanted: Value, rules: Rules, name: str = "") -> bool:
    """Whether ``actual`` is all that ``wanted`` asks for. What the server filled in is passed over."""
    if isinstance(wanted, Unknown):
        return False
    if name in rules.silent:
        return True
    if wanted is None or wanted == {}:
        return True
    if empty(wanted):
        return empty(actual)
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return all(
            (key in rules.written_only and actual.get(key) is None) or covers(actual.get(key), item, rules, key)
            for key, item in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(actual, list):
        if name in rules.sets:
            return sorted(map(str, wanted)) == sorted(map(str, actual))
        return len(wanted) == len(actual) and all(
            have is not None and covers(have, want, rules, name) for want, have in pairs(wanted, actual, name, rules)
        )
    if actual is None:
        return wanted is False or wanted == 0
    return _same_scalar(actual, wanted, name, rules)


def _same_scalar(actual: Value, wanted: Value, name: str, rules: Rules) -> bool:
    if isinstance(actual, bool) != isinstance(wanted, bool):
        return False
    return bool(rules.spelled(name, actual) == rules.spelled(name, wanted))


def lost(before: Value, wanted: Value, rules: Rules, name: str = "") -> bool:
    """Whether the program asked for something before that it asks for no longer."""
    if isinstance(wanted, Unknown) or empty(before) or (name in rules.silent | rules.given_once and empty(wanted)):
        return False
    if empty(wanted):
        return name not in rules.defaults or not covers(before, rules.defaults[name], rules, name)
    if isinstance(before, dict) and isinstance(wanted, dict):
        return any(lost(item, wanted.get(key), rules, key) for key, item in before.items())
    if isinstance(before, list) and isinstance(wanted, list) and name not in rules.sets:
        return any(lost(old, new, rules, name) for new, old in pairs(wanted, before, name, rules) if new is not None)
    return False


def askable(value: Value, rules: Rules) -> Value:
    """What a program could have asked for, of a value that was read."""
    if isinstance(value, dict):
        return {key: askable(item, rules) for key, item in value.items() if key not in rules.server}
    if isinstance(value, list):
        return [askable(item, rules) for item in value]
    return value


def drifted(actual: Value, asked: Value, rules: Rules, name: str = "") -> Value:
    """``asked`` as a program would have to say it to get what is there now."""
    if covers(actual, asked, rules, name):
        return asked
    if isinstance(asked, dict) and isinstance(actual, dict):
        there = {key: item for key, item in asked.items() if actual.get(key) is not None}
        kept = {key: item for key, item in asked.items() if key not in there and key in rules.written_only}
        return {key: drifted(actual[key], item, rules, key) for key, item in there.items()} | kept
    if isinstance(asked, list) and isinstance(actual, list) and name not in rules.sets:
        both = pairs(asked, actual, name, rules)
        return [
            askable(have, rules) if want is None else drifted(have, want, rules, name)
            for want, have in both
            if have is not None
        ]
    return askable(actual, rules)


def settle(wanted: Value, actual: Value, rules: Rules, name: str = "") -> Value:
    """What state holds: reality, in the user's order and spelling wherever these mean the same."""
    if empty(wanted):
        return wanted if empty(actual) and wanted is not None else actual
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return _settle_fields(wanted, actual, rules)
    if isinstance(wanted, list) and isinstance(actual, list):
        if name in rules.sets:
            return wanted if covers(actual, wanted, rules, name) else actual
        both = pairs(wanted, actual, name, rules)
        return [settle(want, have, rules, name) for want, have in both if have is not None]
    if name in rules.silent:
        return wanted
    return wanted if covers(actual, wanted, rules, name) else actual


def _settle_fields(wanted: dict[str, Value], actual: dict[str, Value], rules: Rules) -> dict[str, Value]:
    out: dict[str, Value] = {}
    for key, item in wanted.items():
        if key in actual and not (key in rules.written_only and actual[key] is None):
            out[key] = settle(item, actual[key], rules, key)
        elif key in rules.written_only or covers(None, item, rules, key):
            out[key] = item
    return out | {key: item for key, item in actual.items() if key not in wanted and item is not None}
