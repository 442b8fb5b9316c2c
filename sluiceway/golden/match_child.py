"""The other side of ``matching.py``: a process of its own that searches, and gives up after ``argv[1]`` seconds of
processor time. Reads one JSON object a line, ``{"pattern", "text"}``; answers ``yes``, ``no`` or ``late``.

Only the standard library is imported: it is started without any other path.
"""

from __future__ import annotations

import json
import re
import signal
import sys


class _LateError(Exception):
    pass


def _late(_signal: int, _frame: object) -> None:
    raise _LateError


def main() -> None:
    seconds = float(sys.argv[1])
    signal.signal(signal.SIGVTALRM, _late)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            found = re.search(asked["pattern"], asked["text"])
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            said = "yes" if found else "no"
        except _LateError:
            said = "late"
        sys.stdout.write(f"{said}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
