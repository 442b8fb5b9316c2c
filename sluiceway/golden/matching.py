"""Searches with patterns that came from a file: one that would run for hours is given up after a second."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

_CHILD: Final = Path(__file__).with_name("match_child.py")
_PROCESSOR_SECONDS: Final = 1.0
_WALL_SECONDS: Final = 60.0  # of a child that answers nothing at all, on a machine however busy


class Matcher:
    """Searches in a process of its own, since Python can't stop a search that has begun. Started at the first search;
    ends with the ``with`` block, or with this process."""

    def __init__(self, *, processor: float = _PROCESSOR_SECONDS, wall: float = _WALL_SECONDS) -> None:
        self._processor, self._wall = processor, wall
        self._child: subprocess.Popen[bytes] | None = None
        self._one = threading.Lock()

    def __enter__(self) -> Matcher:
        return self

    def __exit__(self, *_: object) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def found(self, pattern: str, text: str) -> bool | None:
        """Whether ``pattern`` is found in ``text``; None when that takes more than a second of processor time."""
        with self._one:
            said = self._ask(json.dumps({"pattern": pattern, "text": text}).encode() + b"\n")
        return {b"yes\n": True, b"no\n": False}.get(said)

    def _ask(self, line: bytes) -> bytes:
        child = self._child = self._child or self._start()
        assert child.stdin is not None and child.stdout is not None
        guard = threading.Timer(self._wall, child.kill)
        guard.start()
        try:
            child.stdin.write(line)
            child.stdin.flush()
            said = child.stdout.readline()
        except BrokenPipeError:
            said = b""
        finally:
            guard.cancel()
        if not said:  # it was killed, by the guard or by somebody else: the next search gets a new one
            self.__exit__()
        return said

    def _start(self) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C is for the command, which then ends this one.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_CHILD), str(self._processor)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
