"""A source that is a folder: its files of known kinds are copied, and nothing else of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from sluiceway.errors import UserError
from sluiceway.pipeline.source import kinds


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name (with forward slashes) and path of each file below ``folder``, by name. UserError for a link in it."""
    found: list[tuple[str, Path]] = []
    for base, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(base, name)
            if path.is_symlink():
                hint = "put the file itself there"
                raise UserError("a source holds no links", path=path.relative_to(folder).as_posix(), hint=hint)
            if name in names:
                found.append((path.relative_to(folder).as_posix(), path))
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
    yield from sorted(found)


def copy(folder: Path, out: Path, shown: str, data: frozenset[str] = frozenset()) -> None:
    """Copies what a model is made of into ``out``. ``data``: its external data's names; ``shown``: the source's."""
    left = []
    taken = []
    for name, path in files(folder):
        if not (kinds.is_wanted(path.name) or name in data):
            left.append(name)
            continue
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        taken.append(name)
    kinds.require_weights(taken, left, shown)
