"""What the tests of a stage's process let it call."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sluiceway.errors import UserError


def give(value: dict[str, Any]) -> dict[str, Any]:
    print("talk on stdout is no answer")
    return value


def tell_variables(names: list[str]) -> dict[str, Any]:
    return {name: os.environ.get(name) for name in names}


def take_memory(megabytes: int) -> dict[str, Any]:
    taken = bytearray(os.urandom(1)) * (megabytes * 1_000_000)
    return {"taken": len(taken)}


def refuse() -> dict[str, Any]:
    raise UserError("can't be", path="tiny: passes[0]", got=[1, 2], hint="do this")


def divide() -> dict[str, Any]:
    return {"never": 1 / 0}


def fail_to_write(number: int) -> dict[str, Any]:
    raise OSError(number, os.strerror(number), "/some/file")


def complain(text: str) -> dict[str, Any]:
    raise RuntimeError(text)


def die(number: int) -> dict[str, Any]:
    print("on the way", file=sys.stderr, flush=True)
    os.kill(os.getpid(), number)
    time.sleep(600)
    return {}


def leave(code: int) -> dict[str, Any]:
    os._exit(code)


def start_another(file: str) -> dict[str, Any]:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    _put(file, str(other.pid))
    return {}


def wait(file: str) -> dict[str, Any]:
    """Writes its own id and that of a process it started, and stays."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    _put(file, f"{os.getpid()} {other.pid}")
    time.sleep(600)
    return {}


def _put(file: str, text: str) -> None:
    """Whole, or not there."""
    making = Path(f"{file}.new")
    making.write_text(text)
    making.rename(file)


def stay() -> dict[str, Any]:
    time.sleep(600)
    return {}
