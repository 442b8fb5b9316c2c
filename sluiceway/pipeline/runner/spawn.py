"""Starts a stage's process, waits for it, and takes it along when this one is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sluiceway.errors import SluicewayError, UserError

PRIVATE = ("SLUICEWAY_SIGNING_KEY", "SLUICEWAY_SIGNING_PASSPHRASE")
"""Variables that name the key that packages are signed by, and hold its passphrase."""
_KEPT_LINES = 60
_SECONDS_AFTER = 5.0


@dataclass(frozen=True)
class Job:
    """``call``: ``module:function`` with keyword ``arguments`` of plain JSON. ``shown``: the stage, for errors.

    ``python``: another interpreter than this one, which finds this package and none of what it is installed with.
    ``seconds``: how long it may take; else as long as it will. ``signs``: it is told of the key to sign by.
    """

    call: str
    arguments: Mapping[str, Any]
    shown: str
    python: str | None = None
    seconds: float | None = None
    signs: bool = False


@dataclass(frozen=True)
class Outcome:
    """``report``: what the function returned. ``peak_mb``: megabytes of memory at the process's largest."""

    report: dict[str, Any]
    peak_mb: float


def run(job: Job) -> Outcome:
    """Runs ``job`` in a process and group of its own. Raises what it raised (UserError, SluicewayError).

    SluicewayError when the process died: out of memory, a crash in a library, out of time. Ctrl-C kills the group.
    """
    reader, writer = os.pipe()
    command = [job.python or sys.executable, "-P", "-m", "sluiceway.pipeline.runner.child", str(writer)]
    # Most run code of a recipe's or of a model's, which has no business with the key.
    kept = {name: value for name, value in os.environ.items() if job.signs or name not in PRIVATE}
    env = {**kept, "PYTHONHASHSEED": "0"}
    if job.python:
        env["PYTHONPATH"] = str(Path(__file__).parents[3])
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[writer],
            env=env,
            start_new_session=True,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return _wait(job, process, os.fdopen(reader, "rb"))


def _wait(job: Job, process: subprocess.Popen[bytes], answers: IO[bytes]) -> Outcome:
    said: deque[bytes] = deque(maxlen=_KEPT_LINES)
    answer: list[bytes] = []
    assert process.stdin is not None and process.stdout is not None
    talk = _reading(process.stdout, said.extend)
    listen = _reading(answers, lambda stream: answer.append(stream.read()))
    try:
        with suppress(BrokenPipeError):  # it is dead already, and the wait tells why
            process.stdin.write(json.dumps({**vars(job), "arguments": dict(job.arguments)}).encode() + b"\n")
            process.stdin.flush()
        late = _await(process.pid, job.seconds)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        _end(process)
        listen.join(_SECONDS_AFTER)
        talk.join(_SECONDS_AFTER)
    peak = usage.ru_maxrss / 1e6 if sys.platform == "darwin" else usage.ru_maxrss * 1024 / 1e6
    if late and process.returncode == -signal.SIGKILL:
        raise _too_long(job)
    return _outcome(job, process.returncode, b"".join(answer), said, peak)


def _reading(stream: IO[bytes], read: Callable[[IO[bytes]], None]) -> threading.Thread:
    """A thread that reads ``stream`` to its end, so that the other side never waits."""

    def to_the_end() -> None:
        with stream:
            read(stream)

    thread = threading.Thread(target=to_the_end, daemon=True)
    thread.start()
    return thread


def _await(pid: int, seconds: float | None) -> bool:
    """Until it has ended; then kills what it has started, while its id, which is theirs, can't be another's yet.

    True when its ``seconds`` were over before, and it was killed.
    """
    if not hasattr(os, "waitid"):  # not on every system; there, what it has started is left to itself, and to its time
        return False
    with _limited(pid, seconds) as late:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    _kill(pid)
    return late.is_set()


@contextmanager
def _limited(pid: int, seconds: float | None) -> Iterator[threading.Event]:
    """Kills the group ``pid`` after ``seconds``, unless the body ends before; the event says that it was so."""
    late = threading.Event()
    if seconds is None:
        yield late
        return

    def end() -> None:
        late.set()
        _kill(pid)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        timer.join()  # or it might kill whoever gets the id next


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """No process of the group is left behind, however this ended."""
    if process.returncode is None:
        _kill(process.pid)
        process.wait()
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()


def _outcome(job: Job, code: int, answer: bytes, said: deque[bytes], peak: float) -> Outcome:
    if os.environ.get("SLUICEWAY_VERBOSE"):
        sys.stderr.write(b"".join(said).decode("utf-8", "replace"))
    if not answer or code != 0:
        raise _died(job, code, said)
    message = json.loads(answer)
    if message.get("error"):
        raise _told(message["error"])
    return Outcome(message["report"], message.get("peak_mb") or peak)


def _too_long(job: Job) -> SluicewayError:
    hint = "see what keeps the disk or the processor busy, then run the same command again"
    message = f"its process took longer than {job.seconds:g} seconds and was ended"
    return SluicewayError(message, path=job.shown, hint=hint)


def _died(job: Job, code: int, said: deque[bytes]) -> SluicewayError:
    last = b"".join(said).decode("utf-8", "replace").strip().splitlines()
    why = f": {last[-1][:300]}" if last else ""
    if code == -signal.SIGKILL:
        hint = "most likely the memory was used up: free some, or build on a larger machine"
        return SluicewayError("its process was killed", path=job.shown, hint=hint)
    if code < 0:
        name = signal.Signals(-code).name
        hint = "a library crashed: run it again as `sluiceway --verbose ...`, and report it"
        return SluicewayError(f"its process died of {name}{why}", path=job.shown, hint=hint)
    hint = "run it again as `sluiceway --verbose ...` for all that it said, and report it"
    return SluicewayError(f"its process ended with exit code {code} and no answer{why}", path=job.shown, hint=hint)


class _Shown:
    """A value as the other process showed it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _told(error: dict[str, Any]) -> SluicewayError:
    got = {} if error["got"] is None else {"got": _Shown(error["got"])}
    if error["exit_code"] == UserError.exit_code:
        return UserError(error["error"], path=error["path"], hint=error["hint"], **got)
    return SluicewayError(error["error"], path=error["path"], hint=error["hint"], **got)
