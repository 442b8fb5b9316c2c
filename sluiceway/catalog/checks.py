"""What a version must and must not state, by its backend. Each fault is told with its path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sluiceway.catalog.lora_bases import LORA_BASES
from sluiceway.catalog.model import ModelFile, Version, folder_and_file
from sluiceway.catalog.workers_ai import MODELS, RETIRED
from sluiceway.domain.model import Model, ModelVersion, Task
from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError

Where = Callable[[str], str]
_TABLE: Final = "sluiceway/catalog/workers_ai.py"
_OF_THE_STAGE: Final = ("API_KEY", "ADMIN_KEY")


def check(stated: ModelFile, version: Version, where: Where) -> None:
    """UserError for the first thing that a version of this backend can't have, or lacks."""
    if version.backend == "onnx":
        _onnx(version, where)
    else:
        _served(version, where)
    if version.backend == "workers-ai":
        _workers_ai(stated.task, version, where)
    if version.lora is not None:
        _lora(version, version.lora, where)
    if version.backend == "openai":
        _openai(version, where)
    else:
        _no_server(version, where)
    _known(stated.task, version, where)


def one_space(model: Model, other: Model, target: str, path: str) -> None:
    """UserError unless all versions of ``model``, and those of ``other`` that ``target`` may mean, are one embedding
    model: vectors of two can't be compared, and whoever keeps them wouldn't see which is whose."""
    own = {embedding(version): version for version in model.versions}
    for version in other.versions:
        if "@" in target and str(version.ref) != target:
            continue
        foreign = next((mine for name, mine in own.items() if name != embedding(version)), None)
        if foreign is not None:
            raise UserError(
                f"vectors of {version.ref} ({shown(version)}) and {foreign.ref} ({shown(foreign)}) can't be compared",
                path=path,
                got=target,
                hint="name a model that serves the same embedding model at another place, or take it out",
            )


def embedding(version: ModelVersion) -> str:
    """Which embedding model a version is: ``bge-m3`` of ``@cf/baai/bge-m3``, ``BAAI/bge-m3`` and ``bge-m3:latest``."""
    if version.id is None:
        return " ".join(file.sha256 for file in version.files)
    return version.id.rpartition("/")[2].partition(":")[0].lower()


def shown(version: ModelVersion) -> str:
    """What answers, by the backend's own name."""
    return version.id or version.backend


def _onnx(version: Version, where: Where) -> None:
    if version.id is not None:
        hint = "take the id out: its files are known by their sha256"
        raise UserError("an onnx version has files and no id", path=where("id"), got=version.id, hint=hint)
    if not version.files:
        raise UserError("an onnx version needs files", path=where("files"), hint="make them by the model's recipe")
    names = [file.name for file in version.files]
    for at, name in enumerate(names):
        if name in names[:at]:
            hint = f"take one out, or give this one the name by which the Worker is to read it beside {name}"
            path = where(f"files[{at}].name")
            raise UserError("a file's name stands once in a version", path=path, got=name, hint=hint)
    if clash := folder_and_file(names):
        name, within = clash
        path = where(f"files[{names.index(name)}].name")
        hint = f"give it another name, or put {within} elsewhere"
        raise UserError("a file has the name of another's folder", path=path, got=name, hint=hint)


def _served(version: Version, where: Where) -> None:
    if version.files:
        hint = "take the files out, or write backend: onnx"
        raise UserError(f"{_a(version)} has an id and no files", path=where("files"), hint=hint)


def _a(version: Version) -> str:
    return f"{'a' if version.backend == 'workers-ai' else 'an'} {version.backend} version"


def _no_id(version: Version, where: Where, hint: str) -> UserError:
    return UserError(f"{_a(version)} needs the id of its model", path=where("id"), hint=hint)


def _workers_ai(task: Task, version: Version, where: Where) -> None:
    if not version.id:
        raise _no_id(version, where, f"add id: with one of {_listed(task)}")
    if version.id in RETIRED:
        raise UserError(
            f"Cloudflare has retired this model and answers with {RETIRED[version.id]} under its name",
            path=where("id"),
            got=version.id,
            hint=f"write {RETIRED[version.id]}, which is what would answer, or another that is still served",
        )
    if version.id not in MODELS:
        near = nearest(version.id, list(MODELS))
        hint = (
            f"did you mean {near}?" if near else f"if Cloudflare serves it, add a line with its id and task in {_TABLE}"
        )
        raise UserError("no model of Workers AI that is known here", path=where("id"), got=version.id, hint=hint)
    if MODELS[version.id].task != task:
        hint = f"Workers AI has for {task}: {_listed(task)}"
        message = f"this model's task is {MODELS[version.id].task}, not {task}"
        raise UserError(message, path=where("id"), got=version.id, hint=hint)


def _lora(version: Version, lora: str, where: Where) -> None:
    if version.backend != "workers-ai":
        hint = "take lora out, or write backend: workers-ai"
        if version.backend == "openai":
            hint = "take lora out; a server of one's own knows an adapter by a name of its own, which is the id"
        raise UserError(f"{_a(version)} has no lora", path=where("lora"), got=lora, hint=hint)
    if version.id not in LORA_BASES:
        hint = f"take lora out, or write an id that takes adapters: {', '.join(LORA_BASES)}"
        raise UserError(f"{version.id} takes no LoRA adapters", path=where("lora"), got=lora, hint=hint)


def _listed(task: Task) -> str:
    ids = [id for id, known in MODELS.items() if known.task == task]
    return ", ".join(ids[:3]) + f" and others, in {_TABLE}" if ids else "none, but an onnx version may do it"


def _openai(version: Version, where: Where) -> None:
    if not version.id:
        raise _no_id(version, where, "add id: with the name under which the server knows the model")
    if version.base_url is None and version.provider is None:
        raise UserError(
            "an openai version says where its server is",
            path=where("base_url"),
            hint="add base_url: with what /chat/completions is added to, like https://models.example.com/v1, "
            "or provider: with a provider of the stage's AI Gateway",
        )
    if version.secret in _OF_THE_STAGE:
        raise UserError(
            "this secret opens the stage itself, and would be sent to the model's server",
            path=where("secret"),
            got=version.secret,
            hint="name a secret of the server's own, like UPSTREAM_KEY",
        )


def _no_server(version: Version, where: Where) -> None:
    for name in ("base_url", "secret", "provider", "guided"):
        if getattr(version, name) is not None:
            hint = f"take {name} out, or write backend: openai"
            raise UserError(f"{_a(version)} has no {name}", path=where(name), hint=hint)


def _known(task: Task, version: Version, where: Where) -> None:
    if version.vision and task != "chat":
        raise UserError("only a chat model sees pictures", path=where("vision"), hint="take vision out")
    if version.price and version.price.output is None and task == "chat":
        hint = "add output: the US dollars for a million tokens of answers"
        raise UserError("a chat model's answers have a price too", path=where("price.output"), hint=hint)
