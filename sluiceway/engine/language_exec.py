"""Runs one Pulumi program once, in a process of its own, and says how it ended.

The language host starts this file by path with the interpreter of the program's virtualenv, so it may
import nothing but the standard library and the Pulumi SDK of that virtualenv.

stdin:   one line of JSON: project, stack, root, pwd, program, args, monitor, engine, organization,
         parallel, dry_run, config (key -> value), secret_keys
exit:    0 the program ended well; 32 it failed and the engine was already told why; other: it crashed
"""

from __future__ import annotations

import signal

if __name__ == "__main__":
    # The engine may interrupt at any time: until the program runs, that just ends this process, without a traceback,
    # also in the middle of the imports below.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The host holds interrupts back until here, so that none comes in the interpreter's own start.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

import asyncio
import json
import logging
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pulumi
import pulumi.runtime

TOLD = 32
"""What the official executor also exits with when the person has seen the reason."""

_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


def main() -> int:
    line = sys.stdin.readline()
    if not line:
        return 0  # started ahead of time and never needed
    request: dict[str, Any] = json.loads(line)
    # asyncio complains of futures that a failed program leaves unobserved; Pulumi programs always do.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    _configure(request)
    program = _enter(request)
    try:
        return _run(lambda: _call(program), int(request["parallel"]), program)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _configure(request: dict[str, Any]) -> None:
    pulumi.runtime.set_all_config(request["config"], request["secret_keys"])
    pulumi.runtime.configure(
        pulumi.runtime.Settings(
            project=request["project"],
            stack=request["stack"],
            root_directory=request["root"],
            monitor=request["monitor"],
            engine=request["engine"],
            organization=request["organization"],
            parallel=request["parallel"],
            dry_run=request["dry_run"],
        )
    )


def _enter(request: dict[str, Any]) -> str:
    """Changes to the program's folder and makes it importable, as ``python PROGRAM`` would there."""
    os.chdir(request["pwd"])
    program = Path(request["pwd"], request["program"]).resolve()
    folder = program if program.is_dir() else program.parent
    sys.path.insert(0, str(folder))
    sys.argv = [str(program), *request["args"]]
    return str(program)


def _call(program: str) -> None:
    runpy.run_path(program, run_name="__main__")


def _run(program: Callable[[], None], parallel: int, path: str) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    executor = ThreadPoolExecutor(max_workers=max(parallel, 1) * 4)
    loop.set_default_executor(executor)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(program))
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _tell(error, path)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done but the ending, which is near
        executor.shutdown(wait=False, cancel_futures=True)
        loop.close()
    return 0


def _tell(error: Exception, path: str) -> int:
    """Tells the engine why the program failed; the exit code to end with."""
    if engine_ended(error):
        return TOLD
    with suppress(grpc.RpcError):
        pulumi.log.error(describe(error, path))
    return TOLD


def engine_ended(error: BaseException) -> bool:
    """Whether the program failed only since the engine ended first: it was cancelled, or another resource failed.

    The engine has said so. The SDK wraps the call's status in a plain exception, so what lies below counts.
    """
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, grpc.RpcError) and below.code() in _GONE:
            return True
        below = below.__cause__ or below.__context__
    return False


def describe(error: BaseException, path: str) -> str:
    """The text for a failed program at ``path``: an error made for people as it is, else their own code's traceback."""
    if isinstance(error, pulumi.RunError):
        return str(error)
    render = getattr(error, "render", None)
    if callable(render) and isinstance(getattr(error, "exit_code", None), int):
        return str(render())
    if isinstance(error, ModuleNotFoundError | ImportError) and "__main__" in str(error) and Path(path).is_dir():
        return f"no program: there is no __main__.py in {path}"
    frames = traceback.extract_tb(error.__traceback__)
    start = next((i for i, frame in enumerate(frames) if _belongs(frame.filename, path)), 0)
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=start - len(frames)))
    return f"Program failed with an unhandled exception:\n{text}"


def _belongs(filename: str, path: str) -> bool:
    return not filename.startswith("<") and Path(filename).resolve().is_relative_to(path)


if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    # Threads of gRPC may still hang on a monitor that is gone; nothing that matters is left to do.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
