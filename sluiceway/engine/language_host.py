"""``pulumi-language-python``: how the engine runs Python programs. It stands beside an engine that was built here.

The engine starts it with its own address as the argument, reads a port from the first line of stdout,
and calls it over gRPC. Each ``Run`` is a process of its own (`language_exec.py`): one update runs the
program twice, and a module that registers resources when it is imported must be imported both times.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from types import FrameType
from typing import Any

if __name__ == "__main__":
    # The engine may interrupt before this host serves: that just ends it, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2, json_format  # type: ignore[import-untyped]
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from sluiceway.engine.language_env import (
    DESCRIBE,
    PythonEnv,
    UnknownToolchain,
    resolve_env,
)
from sluiceway.engine.language_exec import TOLD
from sluiceway.engine.release import VERSION

EXEC = Path(__file__).with_name("language_exec.py")
_MAX_MESSAGE = 400 * 1024 * 1024  # the engine's own limit: a config or a state can be large


def run_request(request: language_pb2.RunRequest, root: str, engine: str) -> dict[str, Any]:
    """What `language_exec` needs to know of a ``RunRequest``."""
    info = request.info
    return {
        "project": request.project,
        "stack": request.stack,
        "root": info.root_directory or root,
        "pwd": request.pwd or info.program_directory,
        "program": info.entry_point or request.program or ".",
        "args": list(request.args),
        "monitor": request.monitor_address,
        "engine": engine,
        "organization": request.organization or "organization",
        "parallel": request.parallel,
        "dry_run": request.dryRun,
        "config": dict(request.config),
        "secret_keys": list(request.configSecretKeys),
    }


class Host(LanguageServer):
    """The ``LanguageRuntime`` service for one engine process, under gRPC's names for its methods."""

    def __init__(self, engine: str) -> None:
        super().__init__(lambda: None)
        self.engine = engine
        self.root = "."
        self._children: set[Popen[str]] = set()
        self._warm: tuple[PythonEnv, Popen[str]] | None = None
        self._lock = threading.Lock()

    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        self.engine = request.engine_address or self.engine
        self.root = request.root_directory or self.root
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    def About(self, request: language_pb2.AboutRequest, context: grpc.ServicerContext) -> language_pb2.AboutResponse:
        env = self._env(request.info, context)
        found = self._describe(env, "version", context)
        return language_pb2.AboutResponse(
            executable=str(env.python), version=found["version"], metadata={"host": "sluiceway"}
        )

    def GetProgramDependencies(
        self, request: language_pb2.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetProgramDependenciesResponse:
        found = self._describe(self._env(request.info, context), "packages", context)
        wanted = found["packages"]
        if not request.transitiveDependencies:
            wanted = [one for one in wanted if not one["required_by_other"]]
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[language_pb2.DependencyInfo(name=one["name"], version=one["version"]) for one in wanted]
        )

    def GetRequiredPackages(
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        env = self._env(request.info, context)
        with self._lock:
            if self._warm is None:  # a Run follows: importing the SDK takes 0.4 s, so begin now
                self._warm = (env, self._start(env))
        found = self._describe(env, "plugins", context)
        return language_pb2.GetRequiredPackagesResponse(
            packages=[
                plugin_pb2.PackageDependency(
                    kind="resource", name=one["name"], version=_v(one["version"]), server=one["server"]
                )
                for one in found["plugins"]
            ]
        )

    def InstallDependencies(
        self, request: language_pb2.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        env = self._env(request.info, context)
        yield language_pb2.InstallDependenciesResponse(
            stdout=f"{env.python} is set up by `make setup`; nothing is installed here\n".encode()
        )

    def RuntimeOptionsPrompts(
        self, request: language_pb2.RuntimeOptionsRequest, context: grpc.ServicerContext
    ) -> language_pb2.RuntimeOptionsResponse:
        return language_pb2.RuntimeOptionsResponse()

    def GenerateProgram(
        self, request: language_pb2.GenerateProgramRequest, context: grpc.ServicerContext
    ) -> language_pb2.GenerateProgramResponse:
        """What `pulumi import` shows when it is done; a refusal here would make a failure of an import that worked."""
        return language_pb2.GenerateProgramResponse(source={"__main__.py": _NOT_WRITTEN.encode()})

    def Run(self, request: language_pb2.RunRequest, context: grpc.ServicerContext) -> language_pb2.RunResponse:
        env = self._env(request.info, context)
        with self._lock:
            warm, self._warm = self._warm, None
        child = warm[1] if warm and warm[0] == env else self._start(env)
        if not context.add_callback(lambda: _interrupt(child)):
            _interrupt(child)  # cancelled already
        payload = json.dumps(run_request(request, self.root, self.engine)) + "\n"
        try:
            assert child.stdin is not None
            child.stdin.write(payload)
            child.stdin.close()
        except BrokenPipeError:
            pass  # it died while starting; its exit code says so below
        code = child.wait()
        with self._lock:
            self._children.discard(child)
        return _result(code)

    def close(self) -> None:
        """Ends what still runs: the engine is gone or has cancelled."""
        with self._lock:
            children = list(self._children)
        for child in children:
            _interrupt(child)
        for child in children:
            try:
                child.wait(timeout=2)
            except TimeoutExpired:
                child.kill()

    def _start(self, env: PythonEnv) -> Popen[str]:
        command = [str(env.python), "-u", "-P", "-X", "utf8", str(EXEC)]
        with _interrupts_held():
            child = Popen(command, stdin=PIPE, text=True, encoding="utf-8")
        self._children.add(child)
        return child

    def _env(self, info: language_pb2.ProgramInfo, context: grpc.ServicerContext) -> PythonEnv:
        options = json_format.MessageToDict(info.options) if info.HasField("options") else {}
        try:
            return resolve_env(options, Path(info.root_directory or self.root))
        except UnknownToolchain as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise

    def _describe(self, env: PythonEnv, what: str, context: grpc.ServicerContext) -> dict[str, Any]:
        command = [str(env.python), "-P", "-X", "utf8", str(DESCRIBE), what]
        with _interrupts_held():  # for all of its short life: it hears those of a terminal too
            child = Popen(command, stdin=DEVNULL, stdout=PIPE, text=True)
        with child:
            out, _ = child.communicate()
        if child.returncode != 0:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{env.python} could not list its packages")
        described: dict[str, Any] = json.loads(out)
        return described


_NOT_WRITTEN = """\
# It is in the stack now, and protected. This host writes no Python: declare it in infra/, with the same type
# and name and the inputs that `pulumi stack export` shows, or the next `pulumi up` wants to delete it.
"""


def _result(code: int) -> language_pb2.RunResponse:
    if code == 0:
        return language_pb2.RunResponse()
    if code in (TOLD, 130, -signal.SIGINT):
        return language_pb2.RunResponse(bail=True)
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    return language_pb2.RunResponse(error=f"the program's process ended {how}; see its output above")


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """What is started meanwhile gets no interrupt until it asks for them: one that comes earlier waits for it.

    Else an interpreter that is interrupted in its own start, before any code of ours, prints a traceback.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interrupt(child: Popen[str]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGINT)


def _v(version: str) -> str:
    return version if version.startswith("v") else f"v{version}"


def _wait_for_engine(stop: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    stop.set()


def serve(argv: list[str]) -> int:
    """Serves until the engine closes stdin or interrupts; ``argv`` ends with the engine's address."""
    addresses = [word for word in argv if not word.startswith("-")]
    host = Host(addresses[-1] if addresses else "")
    options = [("grpc.max_receive_message_length", _MAX_MESSAGE), ("grpc.max_send_message_length", _MAX_MESSAGE)]
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=options)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    # stdin closes when the engine dies, even by kill -9: then nobody is left to ask or to interrupt us.
    threading.Thread(target=_wait_for_engine, args=(stop,), daemon=True).start()
    server.start()
    print(port, flush=True)
    stop.wait()
    host.close()
    server.stop(grace=1).wait()
    return 0


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
