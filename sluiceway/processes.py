"""Which process a process id means.

Ids are used again, so whoever remembers one remembers the start time as the kernel tells it too. Only the standard
library is imported with this.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluiceway.progress import Progress


def process_start(pid: int) -> str | None:
    """Start time of a running process, as opaque text; None when it is gone or a zombie."""
    if sys.platform == "linux":
        return _linux_start(pid)
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split(maxsplit=1)
    return None if len(shown) < 2 or shown[0].startswith("Z") else shown[1].strip()


def _linux_start(pid: int) -> str | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the name in brackets and may hold anything, so count from its last bracket.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else fields[19]


def is_same_process(pid: int, start: str | None) -> bool:
    """Whether the process that started at ``start`` still runs as ``pid``; never, for a start that is not known."""
    return start is not None and process_start(pid) == start


@contextmanager
def held(lock_file: Path, progress: Progress, waiting: str, poll: float) -> Iterator[None]:
    """Holds a lock that the system drops when its holder dies; waits, visibly, while another process has it.

    ``waiting`` is what is shown then; ``poll``: seconds between two tries.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        with progress.step(waiting):
            lock.acquire(poll_interval=poll)
    try:
        yield
    finally:
        lock.release()
