"""Progress of long work: what is being done, for how long, and how long it usually takes.

Only the standard library is imported here, since set-up runs before anything is installed.
Talk goes to stderr, so that stdout holds data alone. On a terminal the line of a running step is
rewritten every second, with a bar where the usual length is known; elsewhere (CI, a pipe) a line
is printed at the start, every 15 seconds and at the end.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO


def human_seconds(seconds: float) -> str:
    """``4.2 s``, ``58 s``, ``3 min 05 s``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


def bar(share: float, width: int = 20) -> str:
    """``[#####---------------]`` for 0.25. A step that takes longer than usual is never drawn as done."""
    full = min(max(int(share * width), 0), width - 1)
    return f"[{'#' * full}{'-' * (width - full)}]"


@dataclass
class Progress:
    """Prints steps to ``out``. ``clock`` gives seconds."""

    out: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic
    heartbeat: float = 15.0

    @contextmanager
    def step(self, title: str, expected: float | None = None) -> Iterator[Callable[[str], None]]:
        """Runs the body as one step; ``expected`` is its usual length in seconds.

        The body gets a function that changes the note shown behind the title.
        """
        started = self.clock()
        note = [""]
        done = threading.Event()
        usual = f", usually about {human_seconds(expected)}" if expected else ""
        tty = self.out.isatty()

        def line() -> str:
            passed = self.clock() - started
            how_far = bar(passed / expected) if tty and expected else "..."
            text = f"{title} {how_far} {human_seconds(passed)}{usual}"
            return f"{text}  {note[0]}" if note[0] else text

        def beat() -> None:
            while not done.wait(1.0 if tty else self.heartbeat):
                self._write(f"\r\x1b[2K{line()}" if tty else f"{line()}\n")

        if not tty and (expected or 0) >= 5:
            self._write(f"{title}{usual}\n")
        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        word = "failed"
        try:
            yield lambda text: note.__setitem__(0, text)
            word = "done"
        finally:
            done.set()
            thread.join()
            clear = "\r\x1b[2K" if tty else ""
            tail = f"  {note[0]}" if note[0] else ""
            self._write(f"{clear}{title}: {word} in {human_seconds(self.clock() - started)}{tail}\n")

    def say(self, text: str) -> None:
        self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()
