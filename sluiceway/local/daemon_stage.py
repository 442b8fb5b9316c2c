"""The parts of the local stage in one event loop: sockets, state, API, Workers AI, host, and their order.

Start: leftovers of a killed stage away -> ports -> state -> API server -> host -> world -> runtime.json -> ready.
Stop: host first (so that no Worker calls a control plane that is gone), then the API, then runtime.json.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn

from sluiceway.errors import UserError
from sluiceway.local.connection import Connection
from sluiceway.local.daemon_app import StageApp
from sluiceway.local.daemon_host import Host, HostReady, PortInUse, host_command
from sluiceway.local.daemon_logs import RotatingLines
from sluiceway.local.daemon_report import Reporter
from sluiceway.local.lifecycle_code import fingerprint
from sluiceway.local.runtime_file import Runtime, load_runtime, remove_runtime, write_private, write_runtime
from sluiceway.processes import is_same_process, process_start

LOOPBACK = "127.0.0.1"
FRONT_TRIES = 5
PORT_PATIENCE = 5.0
"""Seconds: a process that was killed is told as gone a moment before the last of its threads gives its port back."""
KEEP_ALIVE = 75
"""Seconds for which an idle connection is kept, well over what its clients keep one: workerd and httpx let go after
five. Were it as long, a request now and then would be sent just as the connection is closed, and be lost."""
log = logging.getLogger("sluiceway.local")


@dataclass(frozen=True)
class Ports:
    """Asked for; 0 is any free one."""

    front: int
    api: int


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: the order of going down is ours."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(*, data: Path, ports: Ports, node: Path, reporter: Reporter, ai_url: str | None) -> None:
    """Runs the stage until SIGTERM or SIGINT; raises UserError or SluicewayError if it can't start."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    patience = PORT_PATIENCE if _end_leftovers(data) else 0.0
    for _ in range(FRONT_TRIES - 1):
        try:
            await _serve_once(data, ports, patience, node, reporter, ai_url, stop)
            return
        except PortInUse as error:
            if ports.front != 0 or error.which != "front":
                raise
            # A free port was found for the host, and given to another program before the host had it.
            log.warning("%s; another one is taken", error)
    await _serve_once(data, ports, patience, node, reporter, ai_url, stop)


async def _serve_once(
    data: Path,
    ports: Ports,
    patience: float,
    node: Path,
    reporter: Reporter,
    ai_url: str | None,
    stop: asyncio.Event,
) -> None:
    async with AsyncExitStack() as stack:
        listener, front_port = _listen(ports, stack, patience)
        stage = _Stage(data=data, node=node, front_port=front_port, api=_url(listener.getsockname()[1]))
        await stage.run(listener, stack, reporter, ai_url, stop)


@dataclass(frozen=True)
class _Stage:
    """``api`` is the API's URL without a path."""

    data: Path
    node: Path
    front_port: int
    api: str

    async def run(
        self,
        listener: socket.socket,
        stack: AsyncExitStack,
        reporter: Reporter,
        ai_url: str | None,
        stop: asyncio.Event,
    ) -> None:
        """Everything that is started puts its own end on ``stack``, so any way out takes down what was there."""
        app = self._app(stage_token(self.data), ai_url)
        stack.push_async_callback(app.close)
        server = Server(_server_config(app))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        stack.push_async_callback(_end_server, server, serving)
        host = self._host(app, stack)
        reporter.note("starting workerd")
        if not await _unless(stop, host.start()):
            return
        log.info("the local stage is ready: Workers on port %s, API at %s", self.front_port, self.api)
        reporter.ready()
        watching = asyncio.create_task(host.watch())
        await stop.wait()
        log.info("the local stage stops")
        await host.stop()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    def _app(self, token: str, ai_url: str | None) -> StageApp:
        return StageApp(
            data=self.data,
            token=token,
            api_url=self.api,
            front_url=_url(self.front_port),
            secret=secrets.token_urlsafe(24),
            ai_url=ai_url,
        )

    def _host(self, app: StageApp, stack: AsyncExitStack) -> Host:
        admin_token = secrets.token_urlsafe(32)
        keys = s3_keys(stage_token(self.data))
        code = fingerprint()  # now: the files may change while the stage runs

        async def host_ready(ready: HostReady) -> None:
            await app.host_ready(ready.admin_url, admin_token)
            write_runtime(self.data, _runtime(ready, self.api, code))

        lines = RotatingLines(self.data / "logs" / "host.log")
        host = Host(
            command=host_command(self.node),
            config=lambda port: app.host_config(port, admin_token, keys),
            front_port=self.front_port,
            lines=lines,
            on_ready=host_ready,
        )
        stack.callback(remove_runtime, self.data)
        stack.callback(lines.close)
        stack.push_async_callback(host.stop)
        return host


def _url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}"


def _server_config(app: StageApp) -> uvicorn.Config:
    return uvicorn.Config(
        app.asgi,
        http=Connection,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=3,
        timeout_keep_alive=KEEP_ALIVE,
    )


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, object]) -> bool:
    """True when ``work`` is done, False (and ``work`` cancelled) when the stage is stopped before."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    done = working.done()
    if done:
        stopping.cancel()
        working.result()
        return True
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    return False


def _listen(ports: Ports, stack: AsyncExitStack, patience: float = 0.0) -> tuple[socket.socket, int]:
    """Takes the API port, and finds a front port that can be had now (the host takes it a second later)."""
    if ports.front == ports.api != 0:
        raise UserError(
            "the Workers and the API can't share a port",
            path="SLUICEWAY_LOCAL_API_PORT",
            got=ports.api,
            hint="choose another port for one of them; 0 takes a free one",
        )
    listener = bind(ports.api, "api", patience)
    stack.callback(listener.close)
    with bind(ports.front, "front", patience) as front:
        return listener, int(front.getsockname()[1])


def bind(port: int, which: str, patience: float = 0.0) -> socket.socket:
    """A listening socket on loopback; ``which`` (front or api) names the setting in a UserError.

    ``patience``: seconds for which a port in use is tried again.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return _bind(port, which)
        except PortInUse:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.02)


def _bind(port: int, which: str) -> socket.socket:
    variable = "SLUICEWAY_LOCAL_PORT" if which == "front" else "SLUICEWAY_LOCAL_API_PORT"
    if not 0 <= port <= 65535:
        hint = "choose one in that range; 0 takes a free one"
        raise UserError("a port is a whole number from 0 to 65535", path=variable, got=port, hint=hint)
    # The protocol is named because asyncio switches Nagle's algorithm off only where it is; left on, every
    # answer whose head and body are sent apart waits 40 ms for the other side's acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(512)
        return listener
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(port, which) from error
        hint = "choose another port; those below 1024 are for root alone, and 0 takes a free one"
        raise UserError(f"port {port} can't be used: {error.strerror}", path=variable, hint=hint) from error


def stage_token(data: Path) -> str:
    """The API token of this local stage, made at the first start."""
    path = data / "token"
    try:
        found = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        found = ""
    except UnicodeDecodeError as error:
        hint = "delete the file: the next start makes a new token"
        raise UserError("the stage's token isn't text", path=str(path), hint=hint) from error
    if found:
        return found
    made = f"local-{secrets.token_urlsafe(30)}"
    write_private(path, made + "\n")
    return made


def s3_keys(token: str) -> dict[str, str]:
    """R2's S3 credentials of a token, made as Cloudflare makes them: its id, and its sha256."""
    token_id = hashlib.sha256(f"id:{token}".encode()).hexdigest()[:32]
    return {"access_key_id": token_id, "secret_access_key": hashlib.sha256(token.encode()).hexdigest()}


def _runtime(ready: HostReady, api: str, code: str) -> Runtime:
    front = _url(ready.front_port)
    return Runtime(
        pid=os.getpid(),
        process_start=process_start(os.getpid()) or "",
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        api_url=f"{api}/client/v4",
        ai_url=api,
        front_url=front,
        s3_url=f"{front}/cdn-cgi/local/r2/s3",
        host_admin_url=ready.admin_url,
        host_pid=ready.pid,
        host_start=ready.start,
        workerd_pid=ready.workerd_pid,
        workerd_start=ready.workerd_start,
        code=code,
    )


def _end_leftovers(data: Path, patience: float = 5.0) -> bool:
    """After ``kill -9``: waits for the old host to see its pipe closed, then ends what is still there.

    True if there was a stage that had not stopped by itself.
    """
    left = load_runtime(data)
    found = left is not None
    deadline = time.monotonic() + patience
    for pid, start in (*(left.children() if left else ()), *_recorded(data)):
        found = found or is_same_process(pid, start)
        while is_same_process(pid, start) and time.monotonic() < deadline:
            time.sleep(0.05)
        if is_same_process(pid, start):
            log.warning("process %s is left over from a stage that was killed; it is ended", pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    remove_runtime(data)
    return found


def _recorded(data: Path) -> Iterator[tuple[int, str]]:
    """The host and its children by the host's own record: it may have begun after runtime.json was written."""
    try:
        record = json.loads((data / "data" / "processes.json").read_text(encoding="utf-8"))
        yield from [(int(one["pid"]), str(one["start"])) for one in (record["host"], *record["children"])]
    except (OSError, ValueError, KeyError, TypeError):
        return


async def _end_server(server: Server, serving: asyncio.Task[None]) -> None:
    server.should_exit = True
    await asyncio.gather(serving, return_exceptions=True)
