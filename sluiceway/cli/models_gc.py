"""``sluiceway models gc``: takes out of a stage's bucket what nothing names any more."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sluiceway.cli.context import find_workspace
from sluiceway.cli.models_stage import ask, megabytes, open_bucket
from sluiceway.cli.output import JsonFlag, print_json, print_text, say
from sluiceway.domain.model import ModelRef, parse_ref
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sluiceway.pipeline.publish.gc import Fate

_REF = re.compile(r"\b[a-z](?:[a-z0-9-]{0,46}[a-z0-9])?@[1-9][0-9]{0,5}\b")


def register(app: typer.Typer) -> None:
    app.command("gc")(gc_)


def gc_(
    stage: Annotated[str, typer.Argument(help="Whose bucket.", metavar="STAGE")] = LOCAL,
    keep: Annotated[int, typer.Option(min=1, max=1000, help="Of each model, the newest so many stay.")] = 3,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and stop.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also when the stage can't say what it serves.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete versions from STAGE's bucket that nothing names: not models/*.yaml, stacks/*.yaml nor the stage itself."""
    from sluiceway.pipeline.publish import gc, shelf, stated

    workspace = find_workspace()
    bucket = open_bucket(workspace, stage)
    live = ask(workspace, stage)
    if live.silent and not force and not dry_run:
        hint = "bring it up or set its key, and try again; --force goes by models/ and stacks/ alone"
        raise UserError(f"the stage can't say what it serves: {live.silent}", path=stage, hint=hint)
    names = [
        ("models/*.yaml", frozenset(version.ref for version in stated.read_all(workspace.root))),
        ("stacks/*.yaml", _in_stacks(workspace)),
        (f"what {stage} serves", live.named),
    ]
    fates = gc.decide(shelf.shelved(bucket), keep, names)
    goes = [fate for fate in fates if fate.because is None]
    if not as_json:
        _show(fates, live.silent)
    done = bool(goes) and not dry_run and _confirmed(len(goes), stage, yes)
    if done:
        with Progress().step(f"deleting {len(goes)} versions from {stage}"):
            gc.remove(bucket, fates)
    if as_json:
        print_json({"stage": stage, "unknown": live.silent, "deleted": done, "versions": [_row(f) for f in fates]})


def _in_stacks(workspace: Workspace) -> frozenset[ModelRef]:
    """Whatever looks like a version in a stack file, of any stage: rather one too many."""
    files = (workspace.root / "stacks").glob("*.yaml")
    return frozenset(parse_ref(text) for path in files for text in _REF.findall(path.read_text(encoding="utf-8")))


def _confirmed(count: int, stage: str, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        say("nothing was deleted: this was a dry run, as nobody can be asked here; --yes deletes")
        return False
    if typer.confirm(f"Delete these {count} versions from {stage}?", err=True):
        return True
    say("nothing was deleted")
    return False


def _show(fates: Sequence[Fate], silent: str | None) -> None:
    for fate in fates:
        verb = "stays" if fate.because else "goes"
        size = megabytes(fate.entry.bytes)
        print_text(f"{fate.entry.ref!s:<14} {size:>12}  {verb}  {fate.because or ''}".rstrip())
    if not any(fate.because is None for fate in fates):
        say("nothing to delete")
    if silent:
        say(f"unknown what the stage serves: {silent}")


def _row(fate: Fate) -> dict[str, object]:
    return {
        "version": str(fate.entry.ref),
        "bytes": fate.entry.bytes,
        "goes": fate.because is None,
        "because": fate.because,
    }
