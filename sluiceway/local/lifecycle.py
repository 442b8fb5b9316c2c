"""Starts, stops, asks and empties the local stage. Every function takes its data directory.

At most one stage runs on a data directory: the daemon holds a lock on it for life, and starters wait
for one another, so that two at once get the same stage.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from sluiceway.errors import SluicewayError, UserError
from sluiceway.local.daemon import DEFAULT_API_PORT, DEFAULT_FRONT_PORT
from sluiceway.local.lifecycle_code import fingerprint
from sluiceway.local.lifecycle_logs import logs
from sluiceway.local.runtime_file import Runtime, load_runtime, remove_runtime
from sluiceway.processes import is_same_process
from sluiceway.progress import Progress

START_HINT = "sluiceway local start"
HEALTH_WITHIN = 2.0  # seconds
USUAL_START = 4.0  # seconds on a small machine


class NotReadyError(SluicewayError):
    """The daemon lives and does not get ready. Any other failed start has ended by itself."""


@dataclass(frozen=True)
class Status:
    """``dead``: it was killed and left runtime.json behind; the next start clears that up.
    ``unresponsive``: its process is there and does not answer within two seconds."""

    state: Literal["running", "starting", "stopped", "dead", "unresponsive"]
    runtime: Runtime | None
    detail: str


def start(
    data: Path,
    *,
    front_port: int = DEFAULT_FRONT_PORT,
    api_port: int = DEFAULT_API_PORT,
    node: Path,
    progress: Progress,
    timeout: float = 90.0,
    ai_url: str | None = None,
) -> Runtime:
    """Starts the stage in the background and waits until it serves; one that runs already is returned.

    ``timeout`` in seconds. Raises UserError for what can't be started as asked (a port in use) and
    SluicewayError for a start that failed; either leaves no process behind.
    """
    data = data.resolve()
    running = read_runtime(data)
    if running:
        if running.code != fingerprint():
            progress.say("the local stage runs older code than this checkout; to renew it: sluiceway local stop, start")
        return running
    _make_private(data)
    deadline = time.monotonic() + timeout
    with progress.step("starting the local stage", expected=USUAL_START) as note, _starting(data, timeout, note):
        running = read_runtime(data)
        if running:
            return running
        if _pid_of_lock(data) is not None:  # its starter went away; the stage itself comes up
            return _wait_for_runtime(data, deadline)
        command = [*_command(data, front_port, api_port, node), *(["--ai-url", ai_url] if ai_url else [])]
        _launch(command, data, deadline, note)
        return require_runtime(data)


def stop(data: Path, timeout: float = 20.0) -> bool:
    """Stops the stage and its children; True if there was one. ``timeout`` in seconds, then it is killed."""
    data = data.resolve()
    runtime = load_runtime(data)
    found = _pid_of_lock(data)
    if found is None and runtime and runtime.alive():
        found = (runtime.pid, runtime.process_start)
    if found is None:
        return False
    _signal(found, signal.SIGTERM)
    if not _gone(found, timeout):
        _signal(found, signal.SIGKILL)
        _gone(found, 5.0)
    runtime = load_runtime(data)
    for child in runtime.children() if runtime else ():
        if child[1] is not None and not _gone((child[0], child[1]), 5.0):
            _signal((child[0], child[1]), signal.SIGKILL)
    remove_runtime(data)
    (data / "daemon.pid").unlink(missing_ok=True)
    return True


def status(data: Path) -> Status:
    data = data.resolve()
    left = load_runtime(data)
    if left and left.alive():
        if not _answers(left):
            return Status("unresponsive", left, f"process {left.pid} does not answer at {left.api_url}")
        return Status("running", left, f"Workers at {left.front_url}, API at {left.api_url}, since {left.started_at}")
    if _pid_of_lock(data) is not None:
        return Status("starting", None, "it has not answered yet")
    if left:
        said = (
            f"process {left.pid} ended without clearing up; its data is kept: `sluiceway local start` goes on with it"
        )
        return Status("dead", None, said)
    return Status("stopped", None, "no process; data is kept" if (data / "state.sqlite").exists() else "no data")


def reset(data: Path, *, stop_first: bool = False) -> None:
    """Deletes everything of the stage: resources, objects, logs, its API token and its gateway key.

    Raises UserError while the stage runs, unless ``stop_first``.
    """
    data = data.resolve()
    if status(data).state in ("running", "starting", "unresponsive"):
        if not stop_first:
            hint = "`sluiceway local reset --stop` stops it first"
            raise UserError("the local stage is running", path=str(data), hint=hint)
        stop(data)
    if not data.exists():
        return
    with _starting(data, 5.0, lambda _text: None):
        for entry in data.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != "start.lock":
                entry.unlink(missing_ok=True)


def read_runtime(data: Path) -> Runtime | None:
    """The running stage, or None if there is none (also when its file was left behind)."""
    found = load_runtime(data)
    return found if found and found.alive() else None


def require_runtime(data: Path) -> Runtime:
    """The running stage, or a UserError that says how to start it."""
    found = read_runtime(data)
    if found is None:
        raise UserError(f"the local stage is not running ({status(data).state})", path=str(data), hint=START_HINT)
    return found


def read_token(data: Path) -> str:
    """The API token of the stage; UserError before its first start."""
    try:
        return (data / "token").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise UserError("the local stage has never been started", path=str(data), hint=START_HINT) from None


def _answers(runtime: Runtime) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{runtime.ai_url}/_local/health", timeout=HEALTH_WITHIN) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _make_private(data: Path) -> None:
    try:
        data.mkdir(parents=True, exist_ok=True)
        data.chmod(0o700)
    except OSError as error:
        hint = "it must be a folder that is this user's: remove what stands in its place, or make it writable"
        raise UserError(f"the data directory can't be used: {error.strerror}", path=str(data), hint=hint) from error


@contextmanager
def _starting(data: Path, timeout: float, note: Callable[[str], None]) -> Iterator[None]:
    lock = FileLock(data / "start.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        note("another start is under way")
        try:
            lock.acquire(timeout=timeout)
        except Timeout as error:
            raise SluicewayError(
                f"another start of the local stage has not ended within {timeout:.0f} s",
                path=str(data),
                hint="sluiceway local status",
            ) from error
    try:
        yield
    finally:
        lock.release()


def _command(data: Path, front_port: int, api_port: int, node: Path) -> list[str]:
    module = [sys.executable, "-P", "-m", "sluiceway.local.daemon"]
    ports = ["--front-port", str(front_port), "--api-port", str(api_port)]
    return [*module, "--data", str(data), *ports, "--node", str(node), "--detach"]


def _launch(command: list[str], data: Path, deadline: float, note: Callable[[str], None]) -> None:
    """Runs the daemon and reads its pipe until it is ready; the daemon leaves us, so nothing is waited for later."""
    reading, writing = os.pipe()
    output = (data / "start.out").open("w+b")
    try:
        with output:
            started = [*command, "--report", str(writing)]
            subprocess.run(
                started, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=(writing,), check=False
            )
            os.close(writing)
            writing = -1
            if not _await_ready(reading, deadline, note):
                output.seek(0)
                raise _died(data, output.read().decode("utf-8", "replace"))
    except (KeyboardInterrupt, NotReadyError):
        stop(data, timeout=10.0)
        raise
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
        (data / "start.out").unlink(missing_ok=True)


def _await_ready(reading: int, deadline: float, note: Callable[[str], None]) -> bool:
    """True once the daemon says it is ready, False if the pipe ends before; raises the error that it tells
    once the daemon is gone."""
    failure: SluicewayError | None = None
    for said in _messages(reading, deadline):
        if said.get("ready"):
            return True
        if "error" in said:
            kind = UserError if said["exit_code"] == UserError.exit_code else SluicewayError
            failure = kind(said["error"]["message"], path=said["error"]["path"], hint=said["error"]["hint"])
        note(str(said.get("note", "")))
    if failure:
        raise failure
    return False


def _messages(reading: int, deadline: float) -> Iterator[dict[str, Any]]:
    """What comes through the pipe until its other end is closed; NotReadyError when the time is up."""
    buffer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while selector.select(timeout=max(0.0, deadline - time.monotonic())):
            chunk = os.read(reading, 65536)
            if not chunk:
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines)
    raise NotReadyError("the local stage was not ready in time and was stopped", hint="sluiceway local logs")


def _died(data: Path, printed: str) -> SluicewayError:
    last = [*printed.strip().splitlines()[-3:], *logs(data, which="control", lines=3)]
    shown = "; ".join(line.strip() for line in last) or "it said nothing"
    return SluicewayError(f"the local stage ended while starting: {shown}", path=str(data), hint="sluiceway local logs")


def _wait_for_runtime(data: Path, deadline: float) -> Runtime:
    while time.monotonic() < deadline and _pid_of_lock(data) is not None:
        found = read_runtime(data)
        if found:
            return found
        time.sleep(0.1)
    return require_runtime(data)


def _pid_of_lock(data: Path) -> tuple[int, str] | None:
    """The daemon that holds the data directory, ready or not; None if there is none alive."""
    try:
        word, start_text = (data / "daemon.pid").read_text(encoding="utf-8").strip().split(" ", 1)
        pid = int(word)
    except (FileNotFoundError, ValueError):
        return None
    return (pid, start_text) if is_same_process(pid, start_text) else None


def _signal(process: tuple[int, str], number: signal.Signals) -> None:
    if is_same_process(*process):
        with suppress(ProcessLookupError):
            os.kill(process[0], number)


def _gone(process: tuple[int, str], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while is_same_process(*process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True


__all__ = [
    "Runtime",
    "Status",
    "logs",
    "read_runtime",
    "read_token",
    "require_runtime",
    "reset",
    "start",
    "status",
    "stop",
]
