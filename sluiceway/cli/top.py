"""``sluiceway top STAGE``: a stage's traffic as it is now, by model version and variant."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from sluiceway.cli.context import Checked, check_stage, find_workspace
from sluiceway.cli.observing import observed
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text
from sluiceway.cli.top_view import view
from sluiceway.domain.stage import LOCAL
from sluiceway.local import lifecycle
from sluiceway.observe.feed import Feed
from sluiceway.observe.window import Snapshot, Window


def register(app: typer.Typer) -> None:
    app.command("top")(top)


def top(
    stage: StageArgument,
    window: Annotated[float, typer.Option(help="Seconds that the figures are taken over.", min=1, max=3600)] = 60,
    once: Annotated[bool, typer.Option("--once", help="Print one look and end.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show STAGE's traffic live: rates, first token and total time, errors, cost, cache. Ctrl-C ends it."""
    checked = check_stage(find_workspace(), stage)
    if stage == LOCAL:
        lifecycle.require_runtime(checked.workspace.local)
    kept = Window(window, time.time, since=None if stage == LOCAL else time.time())
    feed = open_feed(checked)
    try:
        if once or as_json or not sys.stdout.isatty():
            # A stage in the cloud tells nothing of what was before: wait for a window's worth.
            _print(stage, gather(feed, kept, 0.5 if stage == LOCAL else window), as_json)
        else:
            watch(stage, feed, kept, Console())
    except KeyboardInterrupt:
        pass
    finally:
        feed.close()


def open_feed(checked: Checked) -> Feed:
    """What the stage tells of its requests, from now on; of the local stage what it told before as well."""
    running: list[subprocess.Popen[str]] = []
    ended: list[bool] = []

    def rest(seconds: float) -> None:
        if ended:
            raise _Ended
        time.sleep(seconds)

    def stop() -> None:
        ended.append(True)
        for process in running:
            process.terminate()

    return Feed(observed(checked, follow=True, rest=rest, started=running.append), stop)


class _Ended(Exception):
    """Nobody looks any more."""


def gather(feed: Feed, window: Window, seconds: float, sleep: Callable[[float], None] = time.sleep) -> Snapshot:
    """Takes what comes for ``seconds`` at least, and until nothing more is there at once."""
    until = time.monotonic() + seconds
    while True:
        found = feed.drain()
        for event in found:
            window.add(event)
        if not found and (feed.ended or time.monotonic() >= until):
            return window.snapshot()
        sleep(0.1)


def watch(
    stage: str, feed: Feed, window: Window, console: Console, sleep: Callable[[float], None] = time.sleep
) -> None:  # fmt: skip
    """A look a second, on a screen of its own, until it is interrupted or the source fails."""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            for event in feed.drain():
                window.add(event)
            live.update(view(stage, window.snapshot(), console.height), refresh=True)
            sleep(1)


def _print(stage: str, snapshot: Snapshot, as_json: bool) -> None:
    if as_json:
        document = {"stage": stage, **asdict(snapshot)}
        document["failures"] = [{"at": each.at, "what": each.what, "id": each.request_id} for each in snapshot.failures]
        print_json(document)
        return
    console = Console(width=160, color_system=None)
    with console.capture() as captured:
        console.print(view(stage, snapshot))
    print_text("\n".join(line.rstrip() for line in captured.get().splitlines()))
