"""Processes that a test starts end with it, whatever it finds."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended(child: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Kills, reaps and closes: a child that a failed test leaves is a ResourceWarning in somebody else's test."""
    with child:
        try:
            yield child
        finally:
            child.kill()
