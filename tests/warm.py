"""The command, already imported: each call runs in a fork of one process that has imported it.

Starting Python and importing the command takes a second of processor; what a test asks of it takes far less. A fork is
a process as any other: its own folder, environment, streams and exit code. What belongs to the start itself (closed
streams, Ctrl-C while it imports) is tested on real starts, in tests/unit/cli/test_commands.py.

An order and its answer are a line of JSON each, on stdin and stdout. The answer: the exit code, negative for a signal.
"""

from __future__ import annotations

import gc
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 400  # seconds: a command that hangs fails its test


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class Warm:
    """Runs the command as its own process would be run, without its start."""

    def __init__(self) -> None:
        line = [sys.executable, "-P", "-m", "tests.warm"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._one_at_a_time = threading.Lock()

    def run(
        self,
        words: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str] = os.environ,
        python: str = sys.executable,
        stdin: str = "",
    ) -> Done:
        with self._one_at_a_time, tempfile.TemporaryDirectory() as folder:
            streams = [Path(folder, name) for name in ("in", "out", "err")]
            for stream, text in zip(streams, (stdin, "", ""), strict=True):
                stream.write_text(text, "utf-8", newline="")
            code = self._order(
                {"words": words, "python": python, "cwd": str(cwd), "env": dict(env), "streams": [*map(str, streams)]}
            )
            out, err = (stream.read_text("utf-8") for stream in streams[1:])
            return Done(code, out, err)

    def _order(self, order: object) -> int:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], LIMIT)
        if not ready:
            self._process.kill()
        assert ready, f"{order} takes more than {LIMIT} s"
        return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(LIMIT)
        self._process.stdout.close()


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
    import sluiceway.cli.main  # noqa: F401 - paid once
    from sluiceway.__main__ import main

    # Forks look through none of it, and so share it.
    gc.freeze()
    if orders():
        main()
