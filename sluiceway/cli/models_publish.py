"""``sluiceway models publish``: a package becomes a version in a stage's bucket, and in models/."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sluiceway.cli.context import find_workspace
from sluiceway.cli.models_stage import megabytes, model_of, open_bucket, transfer
from sluiceway.cli.output import JsonFlag, print_json, print_text, say
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.workspace import Workspace

if TYPE_CHECKING:
    from sluiceway.domain.model import ModelRef
    from sluiceway.pipeline.package import Manifest
    from sluiceway.pipeline.publish.send import Published
    from sluiceway.pipeline.publish.shelf import Bucket, RecordFile

Folder = Annotated[Path, typer.Argument(help="A package: what `models build` made.", metavar="FOLDER")]
Stage = Annotated[str, typer.Argument(help="Whose bucket takes it.", metavar="STAGE")]
Version = Annotated[int | None, typer.Option(min=1, max=999_999, help="Its number; else the next one of the model.")]
As = Annotated[str | None, typer.Option("--model", help="Another model than the package is made for.")]
Write = Annotated[bool, typer.Option("--write", help="Add the version to models/, where a stage takes it from.")]


def register(app: typer.Typer) -> None:
    app.command("publish")(publish_)


def publish_(
    folder: Folder,
    stage: Stage = LOCAL,
    version: Version = None,
    model: As = None,
    write: Write = False,
    as_json: JsonFlag = False,
) -> None:
    """Verify the package in FOLDER and put it into STAGE's bucket, once and for good.

    A version that is there is never changed; the same package again changes nothing. What was interrupted goes on
    where it was.
    """
    from sluiceway.pipeline.package import installed, read_manifest, verify
    from sluiceway.pipeline.publish import send, stated
    from sluiceway.pipeline.publish import write as writing

    workspace = find_workspace()
    bucket = open_bucket(workspace, stage)
    listed = read_manifest(folder / "model.json")
    with transfer(f"verifying {folder}", sum(file.bytes for file in listed.files)) as tell:
        manifest = verify(folder, installed(), tell)
    name = model_of(model, "--model") if model else manifest.model
    files = send.described(folder, manifest)
    ref = _chosen(workspace, bucket, name, files, version)
    text = _text(workspace, ref, manifest, files) if write else None  # a fault in the file is told before any upload
    total = sum(file.bytes for file in files)
    with transfer(f"publishing {ref} to {stage}", total) as tell:
        done = send.publish(bucket, ref, folder, files, tell)
    if text is not None:
        writing.copy_files(workspace.root, ref, folder, files)
        writing.save(workspace.root, ref.model, text)
    known = any(entry.ref == ref for entry in stated.read(workspace.root, ref.model))
    _show(bucket, done, total, known, as_json)
    if write:
        keep(workspace, ref, as_json)


def _chosen(
    workspace: Workspace, bucket: Bucket, model: str, files: tuple[RecordFile, ...], version: int | None
) -> ModelRef:
    from sluiceway.pipeline.publish import send, shelf, stated

    found = [(entry.ref, shelf.record(bucket, entry.ref)) for entry in shelf.shelved(bucket, model)]
    records = [(ref, record) for ref, record in found if record is not None]
    return send.choose(model, files, stated.read(workspace.root, model), records, version)


def _text(workspace: Workspace, ref: ModelRef, manifest: Manifest, files: tuple[RecordFile, ...]) -> str:
    from sluiceway.pipeline.publish import write as writing

    path = workspace.root / "models" / f"{ref.model}.yaml"
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    writing.home_of(workspace.root, ref, files)
    return writing.added(before, ref, manifest.task, files)


def _show(bucket: Bucket, done: Published, total: int, known: bool, as_json: bool) -> None:
    from sluiceway.pipeline.publish import write as writing

    block = writing.block(done.ref, done.files)
    if as_json:
        files = [
            {**file.model_dump(), "key": bucket.key_of(done.ref.model, done.ref.number, file.sha256, file.name)}
            for file in done.files
        ]
        print_json(
            {
                "version": str(done.ref),
                "stage": bucket.stage,
                "package": done.package,
                "already": done.already,
                "sent": list(done.sent),
                "written": known,
                "files": files,
            }
        )
        return
    if done.already:
        say(f"{done.ref} was published already, with these bytes; nothing was sent")
    else:
        say(f"published {done.ref} to {bucket.stage}: {len(done.files)} files, {megabytes(total)}")
    if known:
        say(f"models/{done.ref.model}.yaml has {done.ref}")
        return
    print_text(block.removesuffix("\n"))
    say(f"add this to models/{done.ref.model}.yaml, or publish with --write")


def keep(workspace: Workspace, ref: ModelRef, as_json: bool) -> None:
    """Gives the version its line in the lock, unless that would release others of the checkout with it."""
    from sluiceway import catalog
    from sluiceway.catalog import lock

    folder = workspace.root / "models"
    models = catalog.load(workspace).models
    missing = lock.missing_from_lock(folder, models)
    others = [name for name in missing if name != str(ref)]
    if others:
        hint = "see that they are meant, then: python -m sluiceway.catalog"
        raise UserError(
            f"{ref} is published and written, but not locked: {', '.join(others)} has no line either",
            path=f"models/{lock.NAME}",
            hint=hint,
        )
    if missing:
        lock.append(folder, models)
    if not as_json:
        say(f"models/{lock.NAME} keeps {ref}; commit models/")
