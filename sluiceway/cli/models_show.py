"""``sluiceway models show``: one version from its recipe to the verdict of its last rollout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from sluiceway import settings
from sluiceway.cli import models_list
from sluiceway.cli.context import find_workspace
from sluiceway.cli.models_stage import journal, open_bucket, ref_of
from sluiceway.cli.output import JsonFlag, print_json, print_text
from sluiceway.errors import SluicewayError, UserError
from sluiceway.rollouts.history import stamp
from sluiceway.rollouts.views import JournalEntry
from sluiceway.workspace import Workspace

if TYPE_CHECKING:
    from sluiceway.domain.model import ModelRef
    from sluiceway.pipeline.package import Manifest
    from sluiceway.pipeline.publish.registry import Row

Stages = Annotated[list[str] | None, typer.Option("--stage", help="Only this stage; again for more.")]


def register(app: typer.Typer) -> None:
    app.command("show")(show_)


def show_(
    version: Annotated[str, typer.Argument(help="Like intent@2.", metavar="VERSION")],
    stages: Stages = None,
    as_json: JsonFlag = False,
) -> None:
    """Show VERSION: recipe, source, metrics, where it is published and served, and what its last rollout said."""
    workspace, ref = find_workspace(), ref_of(version)
    asked = [settings.require_stage(workspace, name) for name in stages or settings.stages(workspace)]
    places = {}
    for stage in asked:
        found, silent = models_list.rows(workspace, stage, ref.model)
        row = next((row for row in found if row.ref == ref), None)
        places[stage] = (row, silent, last_verdict(journal(workspace, stage, ref.model), ref.number))
    known = [row for row, _, _ in places.values() if row is not None]
    if not known:
        hint = "`sluiceway models list` shows those that there are"
        raise UserError("no such version in models/*.yaml, nor in a bucket that can be asked", path=version, hint=hint)
    manifest = _manifest(workspace, ref, asked, known[0])
    if as_json:
        print_json(_document(ref, known[0], manifest, places))
        return
    for text in _lines(ref, known[0], manifest, places):
        print_text(text)


Place = tuple["Row | None", list[str], JournalEntry | None]


def last_verdict(entries: list[JournalEntry] | None, number: int) -> JournalEntry | None:
    """The newest entry that is about the version: with gates that judged it if there is one, else any."""
    about = [entry for entry in entries or [] if number in dict(entry.weights)]
    judged = [entry for entry in about if entry.gates]
    found = judged or about
    return found[-1] if found else None


def _manifest(workspace: Workspace, ref: ModelRef, stages: list[str], row: Row) -> Manifest | None:
    """model.json of the version: from models/artifacts, else from the first bucket that has it."""
    from sluiceway.cloudflare import r2_objects
    from sluiceway.pipeline.package import Manifest, read_manifest

    file = next((file for file in row.files if file.name == "model.json"), None)
    if file is None:
        return None
    home = workspace.root / "models" / "artifacts" / ref.model / str(ref.number) / file.name
    if home.is_file():
        return read_manifest(home)
    for stage in stages:
        try:
            bucket = open_bucket(workspace, stage)
            data = r2_objects.get(
                bucket.client, bucket.name, bucket.key_of(ref.model, ref.number, file.sha256, file.name)
            )
            if data is not None:
                return Manifest.model_validate(json.loads(data))
        except (SluicewayError, ValidationError, ValueError):
            continue
    return None


def _document(ref: ModelRef, row: Row, manifest: Manifest | None, places: dict[str, Place]) -> dict[str, Any]:
    shown = models_list.document(row)
    return {
        **{key: shown[key] for key in ("version", "backend", "id", "lora", "stated", "files")},
        "package": manifest.model_dump(mode="json", exclude={"files"}) if manifest else None,
        "stages": {
            stage: {
                "published": found.published if found else "unknown" if silent else "no",
                "weight": found.weight if found else None,
                "unknown": silent,
                "last": _entry(entry),
            }
            for stage, (found, silent, entry) in places.items()
        },
    }


def _entry(entry: JournalEntry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    verdicts = {gate.name: gate.verdict for gate in entry.gates}
    return {"at": entry.at, "phase": entry.phase, "sentence": entry.sentence, "verdicts": verdicts}


def _lines(ref: ModelRef, row: Row, manifest: Manifest | None, places: dict[str, Place]) -> list[str]:
    lines = [f"{ref}  {row.backend}  {row.shown}".rstrip()]
    if manifest:
        opset = manifest.graph.opsets.get("", 0)
        lines += [
            f"  recipe     {manifest.lineage.recipe} ({manifest.lineage.recipe_sha256[:12]})",
            f"  passes     {', '.join(str(entry.get('kind', '?')) for entry in manifest.lineage.passes) or 'none'}",
            f"  source     {json.dumps(manifest.source, ensure_ascii=False)}",
            f"  licence    {manifest.licence or 'not stated'}",
            f"  precision  {manifest.precision}, opset {opset}, IR {manifest.graph.ir}",
            *(f"  metric     {name} {value}" for name, value in manifest.figures.items()),
        ]
    elif row.backend == "onnx":
        lines.append("  no model.json: it was not made by `models build`, or it can't be had here")
    lines += [f"  file       {file.name}  {file.sha256[:12]}  {file.bytes} bytes" for file in row.files]
    for stage, (found, silent, entry) in places.items():
        place = models_list.line(found).split(maxsplit=2) if found else []
        share = "unknown" if found is None or found.weight is None else f"{found.weight} % of the traffic"
        published = (found.published if found else None) or ("unknown" if silent and not place else "-")
        lines.append(f"  {stage:<10} published: {published}; serves: {share}")
        if entry is not None:
            verdicts = ", ".join(f"{gate.name} {gate.verdict}" for gate in entry.gates)
            said = f" ({verdicts})" if verdicts else ""
            lines.append(f"             {stamp(entry.at)}  {entry.sentence}{said}")
    return lines
