"""``sluiceway rollout``: how a stage's traffic comes from one model version to the next, and the hands on it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from sluiceway.cli.actor import actor
from sluiceway.cli.gateway import UrlOption, open_admin
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text, say
from sluiceway.cli.rollout_view import as_text, entry_line, model_block, models_table, printable, screen
from sluiceway.errors import UserError
from sluiceway.rollouts.client import Command, Rollouts
from sluiceway.rollouts.history import Moment, moments, parse_moment, since_start, stamp, weights_text
from sluiceway.rollouts.report import report_document, report_html
from sluiceway.rollouts.views import JournalEntry, RolloutView, StageView, document
from sluiceway.rollouts.watching import Look, looks

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="How traffic comes from one model version to the next."
)

Words = Annotated[
    list[str],
    typer.Argument(help="A stage, and before it a model (chat) if one alone is meant.", metavar="[MODEL] STAGE"),
]
ModelArgument = Annotated[str, typer.Argument(help="A model, chat.", metavar="MODEL")]
Who = Annotated[str | None, typer.Option("--as", help="Who does it, for the journal; else who is logged in.")]
Reason = Annotated[str | None, typer.Option(help="Why, for the journal.")]
Expect = Annotated[int | None, typer.Option(help="Refuse if the rollout is not at this revision any more.", min=0)]


@app.command("list")
def list_(stage: StageArgument, url: UrlOption = None, as_json: JsonFlag = False) -> None:
    """List STAGE's models: phase, weights, what each waits for."""
    with open_admin(stage, url) as admin:
        found = Rollouts(admin).stage()
    if as_json:
        print_json(document(found))
    else:
        print_text(as_text(models_table(found.models, _now())))


@app.command()
def show(words: Words, url: UrlOption = None, as_json: JsonFlag = False) -> None:
    """Show MODEL's rollout: weights, gates with their bounds, and what it waits for."""
    model, stage = _target(words)
    with open_admin(stage, url) as admin:
        rollouts = Rollouts(admin)
        found: RolloutView | StageView = rollouts.stage() if model is None else rollouts.model(model)
    if as_json:
        print_json(document(found))
        return
    for place, view in enumerate(found.models if isinstance(found, StageView) else (found,)):
        print_text(("\n" if place else "") + as_text(model_block(view, _now())))


@app.command()
def watch(
    words: Words,
    wait: Annotated[float, typer.Option(help="Seconds that a rollout may take to begin.", min=0, max=3600)] = 5,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Watch MODEL's rollout live until it ends; exit code 3 if a gate ended it. With --json, one object a line."""
    model, stage = _target(words)
    with open_admin(stage, url) as admin:
        seen = looks(Rollouts(admin), model, clock=time.time, sleep=time.sleep, wait_s=wait)
        try:
            if as_json or not sys.stdout.isatty():
                for entry in (entry for look in seen for entry in look.fresh):
                    print_text(json.dumps(document(entry), ensure_ascii=False) if as_json else entry_line(entry))
            else:
                _live(stage, seen, Console())
        except KeyboardInterrupt:
            say("no longer watched; the rollout goes on")


def _live(stage: str, seen: Iterator[Look], console: Console) -> None:
    """A screen of its own for as long as it goes, and the last look on the usual one."""
    events: list[JournalEntry] = []
    look: Look | None = None
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            for look in seen:
                events += look.fresh
                shown = screen(
                    stage, look.models, events, look.at,
                    silent_s=look.silent_s, height=console.height, width=console.width,
                )  # fmt: skip
                live.update(shown, refresh=True)
    finally:
        if look is not None:
            print_text(as_text(screen(stage, look.models, events[-5:], look.at)))


def _register(command: Command, told: str) -> None:
    def run(
        model: ModelArgument,
        stage: StageArgument,
        who: Who = None,
        reason: Reason = None,
        expect: Expect = None,
        url: UrlOption = None,
        as_json: JsonFlag = False,
    ) -> None:
        with open_admin(stage, url) as admin:
            rollouts = Rollouts(admin)
            if expect is None and command == "promote":
                # Twice is a step too far, unlike all the others: what was there as this began is what is meant.
                expect = rollouts.model(model).revision
            done = rollouts.command(model, command, actor=who or actor(), reason=reason, expect=expect)
        if as_json:
            print_json(document(done))
        else:
            print_text(printable(f"{model} is {done.phase}: {weights_text(model, done.weights)}"))
            print_text(printable(done.waiting))

    run.__doc__ = told
    app.command(command)(run)


_register("pause", "Stop the clock of MODEL's rollout; weights stay, and gates still act.")
_register("resume", "Let MODEL's rollout go on from where it was paused.")
_register(
    "promote", "Move MODEL's rollout on where it waits for a yes; in any other phase, promote the candidate at once."
)
_register("abort", "End MODEL's rollout: stable has it all, and the spec is held until git changes it.")
_register("rollback", "Go back to MODEL's stable version, after promotion too, within seconds.")


@app.command()
def history(
    words: Words,
    at: Annotated[
        str | None, typer.Option(help="What served then, and why: 2026-11-01T12:00Z, or 2h ago as 2h.")
    ] = None,
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="How many of the last entries.")] = 100,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print what happened to MODEL's rollouts, or what served at a moment and why."""
    model, stage = _target(words)
    moment = None if at is None else parse_moment(at, datetime.now(UTC))
    with open_admin(stage, url) as admin:
        entries = Rollouts(admin).journal(model)
    if moment is not None:
        _print_moments(moments(entries, moment), model, stage, str(at), as_json)
    elif as_json:
        print_json([document(entry) for entry in entries[-lines:]])
    else:
        for entry in entries[-lines:]:
            print_text(entry_line(entry))


@app.command()
def report(
    words: Words,
    everything: Annotated[bool, typer.Option("--all", help="All of the journal, not the last rollout alone.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The file to write; else one named for it, here.")
    ] = None,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Write MODEL's rollout as one HTML file for a review: weights, gates, latency, cost, every decision."""
    model, stage = _target(words)
    with open_admin(stage, url) as admin:
        rollouts = Rollouts(admin)
        views = rollouts.stage().models if model is None else (rollouts.model(model),)
        entries = rollouts.journal(model)
    own = [[entry for entry in entries if entry.model == view.model] for view in views]
    told = [entry for part in own for entry in (part if everything else since_start(part))]
    target = out or Path("-".join(("rollout", *((model,) if model else ()), stage)) + ".html")
    _write(target, report_html(stage, views, told, _now()))
    if as_json:
        head = {"path": str(target), "models": [view.model for view in views], "entries": len(told)}
        print_json({**head, **report_document(stage, views, told)})
    else:
        print_text(str(target))


def _write(target: Path, page: str) -> None:
    try:
        target.write_text(page, encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as fault:
        is_folder = isinstance(fault, IsADirectoryError)
        hint = f"name a file in it: {target / 'rollout.html'}" if is_folder else "name a file in a folder that is there"
        raise UserError(
            "is a folder" if is_folder else "has no folder to be written in", path=f"--out {target}", hint=hint
        ) from None


def _print_moments(found: list[Moment], model: str | None, stage: str, at: str, as_json: bool) -> None:
    if not found:
        raise UserError(
            f"the journal knows of nothing{'' if model is None else f' of {model}'} at that time",
            path=f"journal of {stage}",
            got=at,
            hint="`sluiceway rollout history` shows when it begins",
        )
    if as_json:
        print_json([document(moment) for moment in found])
        return
    for moment in found:
        until = "still" if moment.until is None else f"until {stamp(moment.until)}"
        weights = weights_text(moment.model, moment.weights)
        print_text(printable(f"{moment.model}: {weights}  ({moment.phase}, release {moment.release}, {until})"))
        print_text(f"  because: {entry_line(moment.because)}")
        if moment.last != moment.because:
            print_text(f"  and then: {entry_line(moment.last)}")


def _target(words: list[str]) -> tuple[str | None, str]:
    if len(words) > 2:
        raise UserError("too many arguments", path="sluiceway rollout", hint="a model and a stage: chat staging")
    return (words[0] if len(words) == 2 else None), words[-1]


def _now() -> float:
    return time.time() * 1000
