"""``sluiceway cache purge``: deletes answers that a stage's gateway keeps."""

from __future__ import annotations

from typing import Annotated

import typer

from sluiceway.cli.gateway import UrlOption, open_admin
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text, say
from sluiceway.errors import UserError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Answers that a stage's gateway keeps.")


@app.callback()
def group() -> None:
    """Without it, one command alone would stand in the group's place."""


@app.command()
def purge(
    stage: StageArgument,
    release: Annotated[str | None, typer.Option(help="Only what this release kept.")] = None,
    model: Annotated[str | None, typer.Option(help="Only answers of this model, chat.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of it.")] = False,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Delete STAGE's kept answers, by release, by model, or all; some may be given for a minute yet."""
    if everything == (release is not None or model is not None):
        hint = "--release R, --model M or both; or --all"
        raise UserError("what to delete must be said", path="sluiceway cache purge", hint=hint)
    named = {"release": release, "model": model, "all": everything or None}
    body = {name: value for name, value in named.items() if value is not None}
    deleted = 0
    with open_admin(stage, url) as admin:
        while True:
            done = admin.send("POST", "/cache/purge", body)
            deleted += done["deleted"]
            if done["complete"]:
                break
            say(f"{deleted} deleted so far")
    if as_json:
        print_json({"stage": stage, "deleted": deleted})
    else:
        print_text(f"deleted {deleted}")
