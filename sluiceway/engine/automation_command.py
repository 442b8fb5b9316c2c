"""Runs the engine's commands for the Automation API: text is UTF-8 in any locale, and Ctrl-C ends an update well."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

from pulumi.automation import CommandError, CommandResult, OnOutput, PulumiCommand
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from sluiceway.engine.resolve import Engine


class EngineCommand(PulumiCommand):
    """``engine`` as the Automation API wants it.

    The engine gets a process group of its own: a terminal's Ctrl-C then reaches this process alone, which
    passes on exactly one (a second one means "die now" to the engine) and waits for the update to wind up.
    """

    def __init__(self, engine: Engine) -> None:
        self.command = str(engine.path)
        self.version = VersionInfo.parse(engine.version)

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnOutput | None = None,
        on_error: OnOutput | None = None,
        stdin: bytes | None = None,
    ) -> CommandResult:
        """Runs ``pulumi ARGS``; raises the SDK's CommandError when it fails. ``stdin`` is sent as it is."""
        env = {**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        child = subprocess.Popen(
            [self.command, "--non-interactive", *args], cwd=cwd, env=env, process_group=0,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert child.stdout and child.stderr
        out, err = _Reader(child.stdout, on_output), _Reader(child.stderr, on_error)
        if stdin is not None and child.stdin:
            with suppress(BrokenPipeError):
                child.stdin.write(stdin)
                child.stdin.close()
        code = _wait(child)
        result = CommandResult(stdout=out.text(), stderr=err.text(), code=code)
        if code != 0:
            error = create_command_error(result)
            error.said = f"{result.stderr}\n{result.stdout}"  # type: ignore[attr-defined]
            raise error
        return result


def said_by(error: CommandError) -> str:
    """What the failed command wrote."""
    return str(getattr(error, "said", error))


class _Reader:
    """Collects a stream of UTF-8 lines in a thread, and hands each to ``each`` as it comes."""

    def __init__(self, stream: IO[bytes], each: Callable[[str], object] | None) -> None:
        self._lines: list[str] = []
        self._thread = threading.Thread(target=self._read, args=(stream, each), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes], each: Callable[[str], object] | None) -> None:
        with stream:
            for raw in stream:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                self._lines.append(line)
                if each:
                    each(line)

    def text(self) -> str:
        self._thread.join(timeout=10)  # a plugin that outlives the engine may hold the pipe open
        return "\n".join(self._lines)


def _wait(child: subprocess.Popen[bytes]) -> int:
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        try:
            child.wait()
        except KeyboardInterrupt:
            child.terminate()
            child.wait()
        raise
