"""A config may name Python files that a loader would run. None gets in, or is run, unless it is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sluiceway.errors import UserError

_CONFIG_BYTES = 20_000_000


def check(folder: Path, allowed: tuple[str, ...], shown: str) -> None:
    """UserError for an ``auto_map`` in a config of ``folder`` that names a file that isn't among ``allowed``."""
    for path in sorted(folder.rglob("*config.json")):
        for value in _named(path):
            _check(value, path.name, allowed, shown)


def _check(value: str, file: str, allowed: tuple[str, ...], shown: str) -> None:
    if "--" in value:
        hint = "take a model that keeps its code beside its weights: another repository's isn't pinned by this revision"
        raise UserError(f"auto_map in {file} names code of another repository", path=shown, got=value, hint=hint)
    module = value.partition(".")[0] + ".py"
    if module not in allowed:
        hint = f"read {module}; if it is harmless, add it to allow_code: [{module}]. An export by torch runs it"
        raise UserError(f"auto_map in {file} names code that isn't allowed", path=shown, got=value, hint=hint)


def _named(path: Path) -> Iterator[str]:
    """``{"auto_map": {"AutoModel": "modeling_x.X", "AutoTokenizer": ["tokenization_x.X", null]}}``, its texts."""
    if path.stat().st_size > _CONFIG_BYTES:
        return
    try:
        document = json.loads(path.read_bytes())
    except ValueError:
        return  # who reads the file says so better
    found = document.get("auto_map") if isinstance(document, dict) else None
    for value in found.values() if isinstance(found, dict) else ():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield each
