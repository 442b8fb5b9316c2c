"""Runs the engine's commands for the Automation API: text is UTF-8 in any locale, and Ctrl-C ends an update well."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
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

    It writes to files, not to pipes: when this process is killed, an engine that writes to a pipe without a
    reader dies in the middle of a step, and what it was creating is in no state and can't be created again.
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
        """Runs ``pulumi ARGS``; raises the SDK's CommandError when it fails. ``stdin`` is sent as it is.

        ``on_output`` and ``on_error`` get their lines when the command has ended."""
        env = {**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen(
                [self.command, "--non-interactive", *args], cwd=cwd, env=env, process_group=0,
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=out, stderr=err,
            )  # fmt: skip
            if stdin is not None and child.stdin:
                with suppress(BrokenPipeError):
                    child.stdin.write(stdin)
                    child.stdin.close()
            code = _wait(child)
            result = CommandResult(stdout=_text(out, on_output), stderr=_text(err, on_error), code=code)
        if code != 0:
            error = create_command_error(result)
            error.said = f"{result.stderr}\n{result.stdout}"  # type: ignore[attr-defined]
            raise error
        return result


def said_by(error: CommandError) -> str:
    """What the failed command wrote."""
    return str(getattr(error, "said", error))


def _text(file: IO[bytes], each: OnOutput | None) -> str:
    """What the engine wrote to ``file``, with plain line ends."""
    file.seek(0)
    lines = [raw.decode("utf-8", "replace").rstrip("\r\n") for raw in file]
    if each:
        for line in lines:
            each(line)
    return "\n".join(lines)


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
