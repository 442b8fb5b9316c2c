"""Reads the logs of the local stage: the last lines, then, if wanted, what is added, over rotations."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, TextIO

from sluiceway.errors import UserError

Which = Literal["control", "host", "workers"]
KINDS: tuple[Which, ...] = ("control", "host", "workers")


def logs(
    data: Path,
    *,
    which: str = "control",
    lines: int = 100,
    follow: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """The last ``lines`` lines without their ends; with ``follow`` it goes on for ever.

    ``which``: ``control`` (this stage), ``host`` (the process around workerd), ``workers`` (what Workers
    logged and measured, one JSON object a line). Raises UserError for another word.
    """
    if which not in KINDS:
        hint = f"sluiceway local logs {KINDS[0]}"
        raise UserError(f"there is no such log; there are {', '.join(KINDS)}", path="--which", got=which, hint=hint)
    return _lines(data / "logs" / f"{which}.log", lines, follow, sleep)


def _lines(path: Path, count: int, follow: bool, sleep: Callable[[float], None]) -> Iterator[str]:
    source = _open(path)
    try:
        if source:
            yield from (line.rstrip("\n") for line in deque(chain(_before(path, source), source), maxlen=count))
        while follow:
            if source:
                yield from _complete(source)
            if source is None or _rotated(path, source):
                if source:
                    source.close()
                source = _open(path)
            sleep(0.2)
    finally:
        if source:
            source.close()


def _before(path: Path, source: TextIO) -> Iterator[str]:
    """The lines of the file that ``path`` was before: right after a rotation the last ones are there."""
    older = path.with_name(f"{path.name}.1")
    # Rotated since it was opened: then it is the same file.
    if older.exists() and not _rotated(path, source):
        with older.open(encoding="utf-8", errors="replace") as lines:
            yield from lines


def _complete(source: TextIO) -> Iterator[str]:
    """Whole lines only: half of one is left for the next look."""
    while True:
        at = source.tell()
        line = source.readline()
        if not line.endswith("\n"):
            source.seek(at)
            return
        yield line.rstrip("\n")


def _open(path: Path) -> TextIO | None:
    try:
        return path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _rotated(path: Path, source: TextIO) -> bool:
    try:
        return path.stat().st_ino != os.fstat(source.fileno()).st_ino
    except FileNotFoundError:
        return False
