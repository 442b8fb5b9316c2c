"""``sluiceway models list``: every version, whether it is published, and its share of the traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluiceway.cli.context import find_workspace
from sluiceway.cli.models_stage import ask, model_of, open_bucket
from sluiceway.cli.output import JsonFlag, print_json, print_text, say
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import SluicewayError
from sluiceway.workspace import Workspace

if TYPE_CHECKING:
    from sluiceway.pipeline.publish.registry import Row

_PUBLISHED = {"yes": "published", "no": "not published", "part": "published in part", "differs": "published otherwise"}


def register(app: typer.Typer) -> None:
    app.command("list")(list_)


def list_(
    stage: Annotated[str, typer.Argument(help="Whose bucket and traffic.", metavar="STAGE")] = LOCAL,
    model: Annotated[str | None, typer.Option("--model", help="Only this model.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List all versions of models/*.yaml and of STAGE's bucket: published or not, and their share of the traffic."""
    workspace = find_workspace()
    found, silent = rows(workspace, stage, model_of(model) if model else None)
    if as_json:
        print_json({"stage": stage, "unknown": silent, "versions": [document(row) for row in found]})
        return
    for row in found:
        print_text(line(row))
    for reason in silent:
        say(f"unknown: {reason}")


def rows(workspace: Workspace, stage: str, model: str | None) -> tuple[tuple[Row, ...], list[str]]:
    """(a row a version, why something isn't known)."""
    from sluiceway import settings
    from sluiceway.pipeline.publish import registry, shelf, stated

    settings.require_stage(workspace, stage)
    silent: list[str] = []
    shelves, records = None, {}
    try:
        bucket = open_bucket(workspace, stage)
        shelves = {entry.ref: entry for entry in shelf.shelved(bucket, model)}
        for ref, entry in shelves.items():
            if entry.published and (record := shelf.record(bucket, ref)):
                records[ref] = record
    except SluicewayError as fault:
        silent.append(f"what {stage}'s bucket holds: {fault}")
    live = ask(workspace, stage)
    if live.silent:
        silent.append(f"what {stage} serves: {live.silent}")
    known = stated.read(workspace.root, model) if model else stated.read_all(workspace.root)
    return registry.join(known, shelves, records, live.weights), silent


def line(row: Row) -> str:
    share = "unknown" if row.weight is None else f"{row.weight} %"
    published = "" if row.published is None else _PUBLISHED.get(row.published, row.published)
    note = "" if row.stated else f"  not in models/{row.ref.model}.yaml"
    return f"{row.ref!s:<14} {row.backend:<11} {row.shown:<32} {published:<20} {share:>7}{note}".rstrip()


def document(row: Row) -> dict[str, Any]:
    return {
        "version": str(row.ref),
        "backend": row.backend,
        "id": row.answers or None,
        "lora": row.lora,
        "stated": row.stated,
        "published": row.published,
        "published_at": row.published_at.isoformat() if row.published_at else None,
        "weight": row.weight,
        "files": [file.model_dump() for file in row.files],
    }
