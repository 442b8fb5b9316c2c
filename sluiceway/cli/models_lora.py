"""``sluiceway models lora``: adapters for the models of Workers AI that take them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluiceway.cli.context import find_workspace
from sluiceway.cli.models_publish import keep
from sluiceway.cli.models_stage import megabytes, model_of, open_finetunes, transfer
from sluiceway.cli.output import JsonFlag, print_json, print_text, say
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.workspace import Workspace

if TYPE_CHECKING:
    from sluiceway.domain.model import ModelRef
    from sluiceway.pipeline.lora import Adapter

Folder = Annotated[Path, typer.Argument(help="What PEFT saved: config and safetensors.", metavar="FOLDER")]
Stage = Annotated[str, typer.Argument(help="Whose account takes it.", metavar="STAGE")]
Base = Annotated[str, typer.Option("--base", help="The model that it is for, like gemma-2b-it-lora.")]
Name = Annotated[str, typer.Option("--name", help="What it is called in the account.")]
Model = Annotated[str | None, typer.Option("--model", help="The model of models/ that gets a version with it.")]
Version = Annotated[int | None, typer.Option(min=1, max=999_999, help="Its number; else the next one of the model.")]
Write = Annotated[bool, typer.Option("--write", help="Add the version to models/, where a stage takes it from.")]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Check, publish and list LoRA adapters.")


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="lora")


@app.command()
def check(folder: Folder, base: Base, as_json: JsonFlag = False) -> None:
    """Say whether BASE on Workers AI can answer with the adapter in FOLDER; nothing is sent."""
    adapter = _checked(folder, base)
    if as_json:
        print_json(_document(adapter))
        return
    print_text(
        f"fits {adapter.base.id}: rank {adapter.rank}, alpha {adapter.alpha:g}, {', '.join(adapter.modules)} in "
        f"{adapter.layers} of {adapter.base.layers} layers, {adapter.parameters:,} weights as "
        f"{', '.join(adapter.dtypes)}, {megabytes(adapter.bytes)}"
    )
    if adapter.added_model_type:
        print_text(f"publishing adds model_type: {adapter.base.model_type} to what is sent of adapter_config.json")
    _notes(adapter)


@app.command()
def publish(
    folder: Folder,
    base: Base,
    name: Name,
    stage: Stage = LOCAL,
    model: Model = None,
    version: Version = None,
    write: Write = False,
    as_json: JsonFlag = False,
) -> None:
    """Check the adapter in FOLDER, put it into the account of STAGE, and see that its base answers with it.

    What is there is never changed; the same adapter again changes nothing. What was interrupted is done anew.
    """
    from sluiceway.pipeline.lora import publish as publishing
    from sluiceway.pipeline.publish import write as writing

    if (write or version) and model is None:
        hint = "add --model with the model of models/ that is to get the version"
        raise UserError("there is no model to add a version to", path="--model", hint=hint)
    chosen = publishing.adapter_name(name)
    workspace = find_workspace()
    account = open_finetunes(workspace, stage)
    adapter = _checked(folder, base)
    ref, there = _version(workspace, model, adapter, chosen, version)
    text = _text(workspace, ref, adapter, chosen) if write and ref and not there else None  # told before any upload
    with transfer(f"publishing {chosen} to {stage}", adapter.bytes) as tell:
        done = publishing.publish(account, adapter, chosen, tell, time.sleep)
    if text is not None and ref is not None:
        writing.save(workspace.root, ref.model, text)
        there = True
    if as_json:
        told = {"name": chosen, "id": done.id, "stage": stage, "already": not done.sent, "sent": list(done.sent)}
        print_json({**told, "version": str(ref) if ref else None, "written": there, **_document(adapter)})
    else:
        _tell(adapter, chosen, stage, bool(done.sent), ref, there)
    if write and ref is not None:
        keep(workspace, ref, as_json)


@app.command("list")
def list_(stage: Stage = LOCAL, as_json: JsonFlag = False) -> None:
    """List the adapters in the account of STAGE, and the versions of models/ that answer with each."""
    from sluiceway.pipeline.lora.publish import digest_of
    from sluiceway.pipeline.publish import stated

    workspace = find_workspace()
    found = open_finetunes(workspace, stage).all()
    users: dict[str, list[str]] = {}
    for version in stated.read_all(workspace.root):
        users.setdefault(version.lora or "", []).append(str(version.ref))
    rows = [
        {"name": each.name, "id": each.id, "base": each.model, "digest": digest_of(each), "created_at": each.created_at,
         "versions": users.get(each.name, [])}
        for each in found
    ]  # fmt: skip
    lacking = sorted(set(users) - {"", *(each.name for each in found)})
    if as_json:
        print_json({"stage": stage, "adapters": rows, "missing": {name: users[name] for name in lacking}})
        return
    for each in found:
        digest = (digest_of(each) or "by other means")[:14]
        print_text(f"{each.name:<24} {each.model:<44} {digest:<14} {', '.join(users.get(each.name, []))}".rstrip())
    for name in lacking:
        say(f"{', '.join(users[name])} asks for {name}, which the account of {stage} doesn't have")


def _checked(folder: Path, base: str) -> Adapter:
    from sluiceway.pipeline.lora import WEIGHTS, check_adapter
    from sluiceway.pipeline.lora.named import base_of

    found = base_of(base)
    weights = folder / WEIGHTS
    size = weights.lstat().st_size if weights.is_file() else 0
    with transfer(f"checking {folder}", size) as tell:
        return check_adapter(folder, found, tell)


def _version(
    workspace: Workspace, model: str | None, adapter: Adapter, name: str, number: int | None
) -> tuple[ModelRef | None, bool]:
    """The version that is to answer with it, and whether it is in models/ already."""
    from sluiceway.pipeline.lora import version as versions
    from sluiceway.pipeline.publish import stated

    if model is None:
        return None, False
    known = stated.read(workspace.root, model_of(model, "--model"))
    return versions.choose(model, known, adapter.base.id, name, number)


def _text(workspace: Workspace, ref: ModelRef, adapter: Adapter, name: str) -> str:
    from sluiceway.pipeline.lora import version as versions

    path = workspace.root / "models" / f"{ref.model}.yaml"
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    return versions.added(before, ref, adapter.base.id, name)


def _tell(adapter: Adapter, name: str, stage: str, sent: bool, ref: ModelRef | None, there: bool) -> None:
    from sluiceway.pipeline.lora import version as versions

    if sent:
        say(f"published {name} to {stage}: {megabytes(adapter.bytes)}, and {adapter.base.id} answers with it")
    else:
        say(f"{name} was published already, with these bytes; nothing was sent")
    _notes(adapter)
    if ref is None:
        say(f"a version answers with it by lora: {name}; --model MODEL prints one")
    elif there:
        say(f"models/{ref.model}.yaml has {ref}")
    else:
        print_text(versions.block(ref, adapter.base.id, name).removesuffix("\n"))
        say(f"add this to models/{ref.model}.yaml, or publish with --write")


def _notes(adapter: Adapter) -> None:
    for note in adapter.notes:
        say(f"note: {note}")


def _document(adapter: Adapter) -> dict[str, Any]:
    return {
        "base": adapter.base.id,
        "rank": adapter.rank,
        "alpha": adapter.alpha,
        "modules": list(adapter.modules),
        "layers": adapter.layers,
        "parameters": adapter.parameters,
        "dtypes": list(adapter.dtypes),
        "bytes": adapter.bytes,
        "digest": adapter.digest,
        "files": [{"name": file.name, "sha256": file.sha256, "bytes": file.bytes} for file in adapter.files],
        "model_type_added": adapter.added_model_type,
        "notes": list(adapter.notes),
    }
