"""``sluiceway models pull``: a version's files out of a stage's bucket, by digest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sluiceway.cli.context import find_workspace
from sluiceway.cli.models_stage import open_bucket, ref_of, transfer
from sluiceway.cli.output import JsonFlag, print_json, say
from sluiceway.domain.stage import LOCAL


def register(app: typer.Typer) -> None:
    app.command("pull")(pull_)


def pull_(
    version: Annotated[str, typer.Argument(help="Like intent@2.", metavar="VERSION")],
    directory: Annotated[Path, typer.Argument(help="Where it goes; not there yet, or empty.", metavar="DIR")],
    stage: Annotated[str, typer.Argument(help="From whose bucket.", metavar="STAGE")] = LOCAL,
    as_json: JsonFlag = False,
) -> None:
    """Fetch the files of VERSION into DIR, each checked by its sha256. DIR is there when all of it is."""
    from sluiceway.pipeline.publish import pull, stated

    workspace, ref = find_workspace(), ref_of(version)
    bucket = open_bucket(workspace, stage)
    known = next((entry for entry in stated.read(workspace.root, ref.model) if entry.ref == ref), None)
    files = pull.wanted(bucket, ref, known.files if known else (), known.backend if known else None)
    with transfer(f"pulling {ref} from {stage}", sum(file.bytes for file in files)) as tell:
        fetched = pull.pull(bucket, ref, files, directory, tell)
    if as_json:
        names = [file.name for file in files]
        print_json({"version": str(ref), "stage": stage, "folder": str(directory), "fetched": fetched, "files": names})
        return
    say(f"{ref} is in {directory}" if fetched else f"{directory} had {ref} already; nothing was fetched")
