"""The process that a stage runs in: told what to call on stdin, it answers on the descriptor named by its argument.

It lives no longer than who started it: when its stdin closes, it kills itself and all that it started.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from sluiceway.errors import SluicewayError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


def main() -> None:
    answer = int(sys.argv[1])
    job = json.loads(_line())
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    message = _run(job)
    message["peak_mb"] = _peak_mb()
    with os.fdopen(answer, "wb") as out:
        out.write(json.dumps(message).encode())


def _run(job: dict[str, Any]) -> dict[str, Any]:
    module, _, name = job["call"].partition(":")
    try:
        return {"report": getattr(importlib.import_module(module), name)(**job["arguments"])}
    except SluicewayError as error:
        return {"error": error.as_json()}
    except OSError as error:
        if error.errno in FULL:
            return {"error": _disk(error.strerror or str(error), str(error.filename or _place(job)))}
        return {"error": _unexpected(error, job["shown"])}
    except MemoryError:
        hint = "free memory, or build on a larger machine"
        return {"error": SluicewayError("the memory didn't suffice", path=job["shown"], hint=hint).as_json()}
    except Exception as error:
        # Libraries that write with code of their own tell a full disk in words.
        if os.strerror(errno.ENOSPC) in str(error):
            return {"error": _disk(os.strerror(errno.ENOSPC), _place(job))}
        return {"error": _unexpected(error, job["shown"])}


def _disk(said: str, path: str) -> dict[str, Any]:
    hint = "check the space on that disk, and who may write there; --dir puts the work elsewhere"
    return SluicewayError(said, path=path, hint=hint).as_json()


def _place(job: dict[str, Any]) -> str:
    """Where it was writing; a write that fails doesn't say."""
    return str(job["arguments"].get("out", job["shown"]))


def _unexpected(error: Exception, shown: str) -> dict[str, Any]:
    traceback.print_exception(error)
    said = str(error).strip().splitlines()
    hint = "run it again as `sluiceway --verbose ...` for the traceback, and report it"
    return SluicewayError(
        f"unexpected {type(error).__name__}: {said[0][:300] if said else ''}", path=shown, hint=hint
    ).as_json()


def _line() -> bytes:
    """The first line of stdin, byte by byte: the watch reads the rest, without a buffer between."""
    line = bytearray()
    while (byte := os.read(0, 1)) and byte != b"\n":
        line += byte
    return bytes(line)


def _leave_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _peak_mb() -> float | None:
    """Megabytes of this process at its largest; what the kernel counts for a parent includes its own before exec."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) * 1024 / 1e6 if found else None


if __name__ == "__main__":
    main()
