"""The command, already imported: ``python -m tests.e2e.warm`` reads orders, and each runs in a fork of its own.

Starting Python and importing the command takes a second of processor; what a test asks of it takes far less. A fork is
a process as any other: its own folder, environment, streams and exit code. What belongs to the start itself (closed
streams, Ctrl-C while it imports) is tested on real starts, in tests/unit/cli/test_commands.py.

An order and its answer are a line of JSON each, on stdin and stdout. The answer: the exit code, negative for a signal.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any

import sluiceway.cli.main  # noqa: F401 - the import that is to be paid once
from sluiceway.__main__ import main

_READ = 1 << 16


def orders() -> bool:
    """Takes orders until there are none (False); True in a fork, which has become the command that was ordered."""
    while line := _line():
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order)
            return True
        _, status = os.waitpid(child, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))
    return False


def _line() -> bytes:
    """The next order. Unbuffered, so that a fork holds nothing of the next one."""
    read = b""
    while not read.endswith(b"\n"):
        more = os.read(0, _READ)
        if not more:
            return b""
        read += more
    return read


def _become(order: dict[str, Any]) -> None:
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    flags = (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_APPEND)
    for number, (path, flag) in enumerate(zip(order["streams"], flags, strict=True)):
        opened = os.open(path, flag)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["sluiceway", *order["words"]]
    sys.executable = order["python"]


if __name__ == "__main__":
    # Forks look through none of it, and so share it.
    gc.freeze()
    if orders():
        main()
