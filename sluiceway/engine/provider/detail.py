"""Which leaves of the inputs changed, as paths: what ``pulumi preview --diff`` shows."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi.provider.experimental.provider import PropertyDiff, PropertyDiffKind

from sluiceway.engine.provider.compare import Rules, covers, empty
from sluiceway.engine.provider.values import Value

_KINDS = {
    "add": (PropertyDiffKind.ADD, PropertyDiffKind.ADD_REPLACE),
    "delete": (PropertyDiffKind.DELETE, PropertyDiffKind.DELETE_REPLACE),
    "update": (PropertyDiffKind.UPDATE, PropertyDiffKind.UPDATE_REPLACE),
}


def detailed(name: str, before: Value, wanted: Value, rules: Rules, replace: bool) -> dict[str, PropertyDiff]:
    """Path -> kind, for a property that changed; ``before`` and ``wanted`` are its inputs."""
    found = dict(_leaves(name, name, before, wanted, rules)) or {name: "update"}
    return {path: PropertyDiff(_KINDS[kind][replace], input_diff=True) for path, kind in found.items()}


def _leaves(path: str, name: str, before: Value, wanted: Value, rules: Rules) -> Iterator[tuple[str, str]]:
    if name in rules.silent:
        return
    if isinstance(before, dict) and isinstance(wanted, dict):
        for key in {**before, **wanted}:
            yield from _leaves(_field(path, key), key, before.get(key), wanted.get(key), rules)
    elif isinstance(before, list) and isinstance(wanted, list) and name not in rules.sets:
        if name in rules.keyed and not _aligned(before, wanted, rules.keyed[name]):
            yield path, "update"
            return
        for index in range(max(len(before), len(wanted))):
            old = before[index] if index < len(before) else None
            new = wanted[index] if index < len(wanted) else None
            yield from _leaves(f"{path}[{index}]", name, old, new, rules)
    elif empty(before) and not empty(wanted):
        yield path, "add"
    elif empty(wanted) and not empty(before):
        yield path, "delete"
    elif not covers(before, wanted, rules, name):
        yield path, "update"


def _aligned(before: list[Value], wanted: list[Value], key: str) -> bool:
    """Whether items at the same place are the same items; the engine shows old and new by place."""
    return [item.get(key) for item in before] == [item.get(key) for item in wanted]


def _field(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() else f'{path}["{key}"]'
