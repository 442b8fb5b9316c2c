"""``sluiceway engine`` and ``sluiceway env``: which Pulumi engine is used, and how a shell reaches it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sluiceway import settings
from sluiceway.cli.context import find_workspace, get_engine, stage_variables
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text
from sluiceway.engine.resolve import describe
from sluiceway.engine.shell_env import render_exports
from sluiceway.progress import Progress


class Shell(StrEnum):
    """Whose syntax ``env`` prints."""

    sh = "sh"
    fish = "fish"


def register(app: typer.Typer) -> None:
    app.command("engine")(engine)
    app.command("env")(env)


def engine(as_json: JsonFlag = False) -> None:
    """Show which Pulumi engine is used and why; fetch or build it if there is none."""
    found = get_engine(find_workspace(), Progress())
    if as_json:
        print_json(describe(found))
        return
    print_text(f"pulumi {found.version}  {found.path}")
    print_text(f"source: {found.source}: {found.why}")
    for attempt in found.attempts:
        print_text(f"  {'used   ' if attempt.taken else 'passed '} {attempt.way}: {attempt.why}")


def env(
    stage: StageArgument,
    shell: Annotated[Shell, typer.Option(help="sh or fish")] = Shell.sh,
    as_json: JsonFlag = False,
) -> None:
    """Print what a shell needs for plain `pulumi` on STAGE: eval "$(sluiceway env local)"."""
    workspace = find_workspace()
    settings.require_stage(workspace, stage)
    values = stage_variables(workspace, stage, get_engine(workspace, Progress()))
    if as_json:
        print_json(values)
    else:
        print_text(render_exports(values, shell.value).rstrip("\n"))
