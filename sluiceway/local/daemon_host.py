"""The Node process that holds workerd: started, watched, started again, and taken down first.

It reads its configuration as one JSON line on stdin and keeps stdin open for as long as it should live:
when this process dies, however it dies, the pipe closes and the host ends itself and workerd.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sluiceway.errors import SluicewayError, UserError
from sluiceway.local.daemon_logs import RotatingLines
from sluiceway.processes import process_start

BACKOFF = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
STEADY = 30.0  # seconds a host must have lived for its next death to count as the first
READY_WITHIN = 60.0
STOP_WITHIN = 8.0
_LINE_LIMIT = 4 * 1024 * 1024
# The host runs other people's code in workerd: it gets no credentials that happen to be in the shell.
_WITHHELD = ("CLOUDFLARE_", "PULUMI_", "AWS_", "SLUICEWAY_LOCAL_AI_", "GITHUB_")

log = logging.getLogger("sluiceway.local.host")


@dataclass(frozen=True)
class HostReady:
    """What the host says once workerd serves."""

    pid: int
    start: str | None
    admin_url: str
    front_port: int
    workerd_pid: int | None
    workerd_start: str | None


@dataclass
class Host:
    """One host process after another. ``config`` gives what is sent on stdin for a front port."""

    command: tuple[str, ...]
    config: Callable[[int], Mapping[str, object]]
    front_port: int
    lines: RotatingLines
    on_ready: Callable[[HostReady], Awaitable[None]]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        self._process: Process | None = None
        self._stopping = False
        self._readers: set[asyncio.Task[None]] = set()

    async def start(self) -> HostReady:
        """Starts the host and waits until it serves; raises UserError for a port in use."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=_environment(), limit=_LINE_LIMIT
            )
        except OSError as error:
            raise UserError(
                f"Node can't be run: {error.strerror}", path=self.command[0], hint="make setup installs it"
            ) from error
        self._process = process
        assert process.stdin and process.stdout and process.stderr
        self._read(process.stderr)
        process.stdin.write(json.dumps(dict(self.config(self.front_port))).encode() + b"\n")
        with suppress(ConnectionError):
            await process.stdin.drain()
        try:
            line = await asyncio.wait_for(process.stdout.readline(), READY_WITHIN)
        except TimeoutError as error:
            await self._end(process)
            raise SluicewayError(f"the Workers host said nothing for {READY_WITHIN:.0f} s", hint=_HINT) from error
        ready = await self._understand(process, line)
        self._read(process.stdout)
        self.front_port = ready.front_port
        await self.on_ready(ready)
        return ready

    async def watch(self) -> None:
        """Starts the host again whenever it dies, waiting longer each time; returns once it is stopped."""
        loop = asyncio.get_running_loop()
        deaths = 0
        since = loop.time()
        while not self._stopping:
            process = self._process
            code = await process.wait() if process else None
            if self._stopping:
                return
            deaths = 1 if loop.time() - since > STEADY else deaths + 1
            wait = BACKOFF[min(deaths, len(BACKOFF)) - 1]
            log.warning("the Workers host ended with code %s; starting it again in %.2f s", code, wait)
            await self.sleep(wait)
            if self._stopping:
                return
            since = loop.time()
            try:
                await self.start()
            except SluicewayError as error:
                log.error("the Workers host did not start: %s", error)
            except Exception:
                log.exception("the Workers host did not start")
                await self._end(self._process)

    async def stop(self) -> None:
        """Ends host and workerd; safe to call twice."""
        self._stopping = True
        await self._end(self._process)
        for task in list(self._readers):
            task.cancel()

    async def _end(self, process: Process | None) -> None:
        if process is None or process.returncode is not None:
            return
        if process.stdin and not process.stdin.is_closing():
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), STOP_WITHIN)
        except TimeoutError:
            log.warning("the Workers host did not end within %.0f s and is killed", STOP_WITHIN)
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _understand(self, process: Process, line: bytes) -> HostReady:
        try:
            said = json.loads(line)
        except ValueError:
            said = {}
        if said.get("ready") is True:
            workerd = said.get("workerd_pid")
            return HostReady(
                pid=process.pid,
                start=process_start(process.pid),
                admin_url=said["admin_url"],
                front_port=said["front_port"],
                workerd_pid=workerd,
                workerd_start=process_start(workerd) if workerd else None,
            )
        await self._end(process)
        error = said.get("error", {})
        if error.get("code") == "port_in_use":
            raise PortInUse(self.front_port, "front")
        shown = error.get("message") or f"it ended with code {process.returncode}"
        raise SluicewayError(f"the Workers host did not start: {shown}", hint=_HINT)

    def _read(self, stream: asyncio.StreamReader) -> None:
        task = asyncio.create_task(self._copy(stream))
        self._readers.add(task)
        task.add_done_callback(self._readers.discard)

    async def _copy(self, stream: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await stream.readline()
            except ValueError:  # a line longer than the limit: it is dropped, the stream goes on
                continue
            if not line:
                return
            self.lines.write(line.decode("utf-8", "replace").rstrip("\r\n"))


_HINT = "see `sluiceway local logs host`"


class PortInUse(UserError):
    """``which`` is ``front`` (Workers) or ``api``."""

    def __init__(self, port: int, which: str) -> None:
        option, variable = {
            "front": ("--port", "SLUICEWAY_LOCAL_PORT"),
            "api": ("--api-port", "SLUICEWAY_LOCAL_API_PORT"),
        }[which]
        super().__init__(
            f"port {port} is in use by another program",
            path=variable,
            hint=f"stop that program, or choose another port: `sluiceway local start {option} {port + 10}`",
        )
        self.which = which


def host_command(node: Path) -> tuple[str, ...]:
    return (str(node), str(Path(__file__).resolve().parent / "host" / "main.ts"))


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}
