"""Log files of the local stage: whole lines, rotated by size, so that a stage left on never fills a disk."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TextIO

LOG_BYTES = 8 * 1024 * 1024
KEPT = 3


class RotatingLines:
    """Appends lines to ``path``; at ``limit`` bytes it becomes ``path.1`` and so on up to ``kept``.

    Safe to call from several threads of one process. A disk that is full costs log lines, never the stage.
    """

    def __init__(self, path: Path, *, limit: int = LOG_BYTES, kept: int = KEPT) -> None:
        self._path = path
        self._limit = limit
        self._kept = kept
        self._lock = Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._out, self._size = self._open()

    def write(self, line: str) -> None:
        text = line if line.endswith("\n") else f"{line}\n"
        size = len(text.encode("utf-8", "replace"))
        with self._lock:
            try:
                if self._size and self._size + size > self._limit:
                    self._rotate()
                self._out.write(text)
                self._out.flush()
            except OSError:
                return
            self._size += size

    def close(self) -> None:
        with self._lock:
            self._out.close()

    def _open(self) -> tuple[TextIO, int]:
        out = self._path.open("a", encoding="utf-8", errors="replace")
        self._path.chmod(0o600)
        return out, self._path.stat().st_size

    def _rotate(self) -> None:
        self._out.close()
        for number in range(self._kept - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            if older.exists():
                older.replace(self._path.with_name(f"{self._path.name}.{number + 1}"))
        self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        self._out, self._size = self._open()
