"""Where tail documents come from: the local stage's log, or ``wrangler tail`` on a stage in the cloud."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sluiceway.errors import SluicewayError

_ERROR = "[ERROR]"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def local_documents(lines: Iterable[str], worker: str) -> Iterator[object]:
    """The tail documents of one Worker among the lines of the local stage's log."""
    for line in lines:
        try:
            document = json.loads(line)
        except ValueError:  # the line that was written when the stage was killed
            continue
        if isinstance(document, dict) and document.get("kind") == "tail" and document.get("script") == worker:
            yield document


def printed_documents(lines: Iterable[str]) -> Iterator[object]:
    """JSON documents that are printed one after another, each on one line or indented over many.

    What stands between them (a warning, a notice of a new version) is passed over.
    """
    open_lines: list[str] = []
    for line in lines:
        line = line.rstrip("\r\n")
        if not open_lines and not line.startswith("{"):
            continue
        open_lines.append(line)
        # An indented document ends with a bracket that is not indented.
        if line != "}" and not (len(open_lines) == 1 and line.endswith("}")):
            continue
        try:
            yield json.loads("\n".join(open_lines))
        except ValueError:
            if line != "}":
                continue
        open_lines = []


def wrangler_tail(
    worker: str, *, node: Path, script: Path, cwd: Path, env: Mapping[str, str],
    started: Callable[[subprocess.Popen[str]], None] = lambda _process: None,
) -> Iterator[object]:  # fmt: skip
    """Tail documents of a Worker in the cloud, as they come, until wrangler ends or the caller stops reading.

    ``script`` is wrangler's own; ``env`` the whole environment; ``started`` gets the process, so that
    another thread can end it. Raises SluicewayError with wrangler's last words
    when it ends by itself with a failure.
    """
    command = [str(node), str(script), "tail", worker, "--format", "json"]
    with _running(command, cwd, env) as (process, errors):
        started(process)
        assert process.stdout is not None
        yield from printed_documents(process.stdout)
        code = process.wait()
    if code != 0:
        said = told_fault(errors) or f"exit code {code}"
        hint = "CLOUDFLARE_API_TOKEN needs `Workers Tail: Read`; `sluiceway up STAGE` deploys the Worker"
        raise SluicewayError(f"wrangler tail ended: {said}", path=worker, hint=hint)


@contextmanager
def _running(
    command: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[str], deque[str]]]:
    """The process, and the last lines of its stderr; it is ended with the block."""
    process = subprocess.Popen(
        command, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, encoding="utf-8", errors="replace", start_new_session=True,
    )  # fmt: skip
    errors: deque[str] = deque(maxlen=200)
    assert process.stderr is not None
    reader = threading.Thread(target=_keep, args=(process.stderr, errors), daemon=True)
    reader.start()
    try:
        yield process, errors
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join(2)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def told_fault(lines: Iterable[str]) -> str:
    """What wrangler says went wrong: its first error and the words below it; what follows is its attempt to help."""
    found: list[str] = []
    for line in filter(None, lines):
        if _ERROR in line and found and _ERROR in found[0]:
            break
        if _ERROR in line:
            found.clear()
        found.append(line)
    return " ".join(line.partition(_ERROR)[2].strip() if _ERROR in line else line for line in found[:3])


def _keep(stream: IO[str], errors: deque[str]) -> None:
    for line in stream:
        errors.append(_COLOURS.sub("", line).strip())


def tail_environment(account_id: str) -> dict[str, str]:
    """This process's environment, for wrangler on a stage of that account."""
    return {**os.environ, "CLOUDFLARE_ACCOUNT_ID": account_id, "WRANGLER_SEND_METRICS": "false", "NO_COLOR": "1"}
