"""Which process a process id means.

Ids are used again, so whoever remembers one remembers the start time as the kernel tells it too. Only the standard
library is imported here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


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
