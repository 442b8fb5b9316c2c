"""The local stage's own process: ``python -m sluiceway.local.daemon --data DIR --node PATH``.

It serves the Cloudflare API and Workers AI on one port, keeps the Node host (and through it workerd) alive
behind the other, and writes runtime.json when all of it answers. Started by `lifecycle.start`, which reads
the pipe ``--report``; exit code 0 after SIGTERM or SIGINT, 2 when it can't start as asked, 1 otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from sluiceway.errors import SluicewayError, UserError
from sluiceway.local.daemon_logs import RotatingLines
from sluiceway.local.daemon_report import Reporter
from sluiceway.local.runtime_file import write_private
from sluiceway.processes import process_start

DEFAULT_FRONT_PORT = 8787
DEFAULT_API_PORT = 8788
LOCK_WITHIN = 2.0  # seconds; a stage that has just been stopped needs a moment to be gone


class LinesHandler(logging.Handler):
    """Python's log records as lines of control.log."""

    def __init__(self, lines: RotatingLines) -> None:
        super().__init__()
        self._lines = lines
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.write(self.format(record))


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    reporter = Reporter(options.report)
    data = Path(options.data).resolve()
    if options.detach:
        _detach()
    try:
        with _holding(data):
            if options.detach:
                _silence(data)
            _run(options, data, reporter)
    except SluicewayError as error:
        logging.getLogger("sluiceway.local").error("%s", error)
        reporter.failed(error)
        return error.exit_code
    except Exception as error:
        logging.getLogger("sluiceway.local").exception("the local stage failed")
        reporter.failed(SluicewayError(f"the local stage failed: {error}", path=str(data), hint="see logs/control.log"))
        return 1
    return 0


@contextmanager
def _holding(data: Path) -> Iterator[None]:
    """The lock on the data directory, for as long as this process works on it."""
    (data / "logs").mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(data / "daemon.lock", mode=0o600)
    try:
        lock.acquire(timeout=LOCK_WITHIN)
    except Timeout as error:
        raise UserError(
            "another local stage runs on this data directory", path=str(data), hint="sluiceway local stop"
        ) from error
    # Who holds the lock, so that `stop` finds a stage that has not come as far as runtime.json.
    holder = data / "daemon.pid"
    write_private(holder, f"{os.getpid()} {process_start(os.getpid())}\n")
    try:
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _run(options: argparse.Namespace, data: Path, reporter: Reporter) -> None:
    from sluiceway.local.daemon_stage import Ports, serve  # late: a second starter is told so without half a second

    lines = RotatingLines(data / "logs" / "control.log")
    logging.basicConfig(level=logging.INFO, handlers=[LinesHandler(lines)], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # Each call of env.AI begins with a WebSocket that is refused on purpose; uvicorn warns of every one.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    ports = Ports(front=options.front_port, api=options.api_port)
    asyncio.run(serve(data=data, ports=ports, node=Path(options.node), reporter=reporter, ai_url=options.ai_url))


def _detach() -> None:
    """Leaves the starter: a session of its own, and no parent that would have to wait for it."""
    if os.fork() > 0:
        os._exit(0)
    os.setsid()


def _silence(data: Path) -> None:
    """stdin to nothing; what libraries print in spite of all to a file of its own, emptied at each start."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    raw = os.open(data / "logs" / "control.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    os.dup2(raw, 1)
    os.dup2(raw, 2)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sluiceway.local.daemon", description=__doc__)
    parser.add_argument("--data", required=True, help="directory of the local stage's state and logs")
    parser.add_argument("--front-port", type=int, default=DEFAULT_FRONT_PORT, help="where Workers answer; 0 = any")
    parser.add_argument("--api-port", type=int, default=DEFAULT_API_PORT, help="where the API answers; 0 = any")
    parser.add_argument("--node", required=True, help="the Node program that runs the Workers host")
    parser.add_argument("--ai-url", default=os.environ.get("SLUICEWAY_LOCAL_AI_URL") or None, help="OpenAI-compatible")
    parser.add_argument("--report", type=int, help="file descriptor on which the starter waits")
    parser.add_argument("--detach", action="store_true", help="go on in the background")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
