"""Makes a package: copies what belongs to the model, describes it, and opens and runs the copy before it counts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sluiceway.domain.model import Task
from sluiceway.errors import UserError
from sluiceway.pipeline.checks import Facts, Limits, check_model, check_shapes
from sluiceway.pipeline.checks import Port as CheckedPort
from sluiceway.pipeline.package import sbom, tokenizer
from sluiceway.pipeline.package.manifest import (
    NAME,
    SIGNATURE,
    Chat,
    File,
    Graph,
    Lineage,
    Manifest,
    Port,
    Role,
    Tokenizer,
)
from sluiceway.pipeline.package.verify import sha256_of, verify
from sluiceway.pipeline.types import Model

# Weights in another form than the graph's, and code: the runtime reads neither.
_LEFT_OUT: Final = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".data", ".py", ".pyc")
_CONFIG: Final = ("config.json", "generation_config.json")


@dataclass(frozen=True)
class Meta:
    """What a package says of its model beside what its files show.

    ``source``: where the weights are from; ``passes``: the report of each pass in its order; ``metrics``: what
    validation measured; ``runtime``: the oldest version of each runtime that must load it; ``batches``: (batch,
    length) at which the copy is run, the usual ones where it is empty.
    """

    model: str
    task: Task
    precision: str
    source: Mapping[str, Any]
    recipe: str
    recipe_sha256: str
    runtime: Mapping[str, str]
    passes: Sequence[Mapping[str, Any]] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    licence: str | None = None
    batches: Sequence[tuple[int, int]] = ()
    sbom: bool = True


@dataclass(frozen=True)
class Package:
    """``digest`` is the sha256 of model.json, which holds those of all other files."""

    folder: Path
    digest: str
    manifest: Manifest


def package(model: Model, meta: Meta, out: Path, *, source: Path | None = None) -> Package:
    """Writes the package of ``model`` into the folder ``out``, which must be empty or not there yet.

    ``source``: the folder whose tokenizer and chat template the package's must equal; that of the model by default.
    The same input gives the same bytes. UserError when the model doesn't suit its runtimes, lacks a file, or its copy
    doesn't load and run; then ``out`` is left as it was.
    """
    if out.exists() and any(out.iterdir()):
        raise UserError("the folder isn't empty", path=str(out), hint="name one that is, or that isn't there yet")
    facts = check_model(model, Limits(runtimes=meta.runtime))
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as parent:
        made = Path(parent) / "package"
        made.mkdir()
        for name in _names(model.folder, facts):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(model.folder / name, made / name)
        manifest = _described(made, facts, meta, source or model.folder)
        _run_elsewhere(made, meta)
        if out.exists():
            out.rmdir()
        made.rename(out)
    return Package(out, sha256_of(out / NAME), manifest)


def _names(folder: Path, facts: Facts) -> list[str]:
    """The graph, its data wherever the graph says it lies, and what else the folder holds for a runtime."""
    names = {"model.onnx", *facts.data_files}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if path.is_file() and not hidden and not name.endswith(_LEFT_OUT) and name not in (NAME, SIGNATURE, sbom.NAME):
            names.add(name)
    return sorted(names)


def _described(made: Path, facts: Facts, meta: Meta, source: Path) -> Manifest:
    found = tokenizer.probe(made)
    _require_tokenizer(found, facts, meta, made)
    chat = tokenizer.probe_chat(made)
    tokenizer.require_same("tokenizer", tokenizer.probe(source), found, made)
    tokenizer.require_same("chat template", tokenizer.probe_chat(source), chat, made)
    manifest = _manifest(_files(made, facts), facts, meta, found, chat)
    if meta.sbom:
        (made / sbom.NAME).write_text(sbom.text(manifest), encoding="utf-8")
        manifest = _manifest(_files(made, facts), facts, meta, found, chat)
    (made / NAME).write_text(manifest.text(), encoding="utf-8")
    return manifest


def _manifest(
    files: tuple[File, ...], facts: Facts, meta: Meta, found: Tokenizer | None, chat: Chat | None
) -> Manifest:
    missing = meta.task == "chat" and chat is None
    return Manifest(
        format=1,
        model=meta.model,
        task=meta.task,
        precision=meta.precision,
        files=files,
        graph=Graph(
            ir=facts.ir,
            opsets=dict(facts.opsets),
            inputs=_ports(facts.inputs),
            outputs=_ports(facts.outputs),
        ),
        tokenizer=found,
        chat=chat,
        source=dict(meta.source),
        licence=meta.licence,
        lineage=Lineage(
            recipe=meta.recipe,
            recipe_sha256=meta.recipe_sha256,
            passes=tuple(dict(report) for report in meta.passes),
        ),
        metrics=dict(meta.metrics),
        runtime=dict(meta.runtime),
        notes=("the source has no chat template",) if missing else (),
    )


def _ports(ports: Sequence[CheckedPort]) -> tuple[Port, ...]:
    return tuple(Port(name=port.name, type=port.kind, dims=port.dims) for port in ports)


def _require_tokenizer(found: Tokenizer | None, facts: Facts, meta: Meta, folder: Path) -> None:
    takes_ids = any(port.name == "input_ids" for port in facts.inputs)
    if takes_ids and found is None:
        hint = "put the tokenizer's files beside the model: tokenizer.json, or vocab.json with merges.txt, vocab.txt, "
        raise UserError(
            "the model takes token ids, and no tokenizer lies beside it",
            path=str(folder),
            got=meta.model,
            hint=f"{hint}or tokenizer.model",
        )


def _files(folder: Path, facts: Facts) -> tuple[File, ...]:
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            found.append(File(name=name, role=_role(name, facts), sha256=sha256_of(path), bytes=path.stat().st_size))
    return tuple(found)


def _role(name: str, facts: Facts) -> Role:
    base = name.rpartition("/")[2]
    upper = base.upper()
    known: dict[str, Role] = {"model.onnx": "graph", sbom.NAME: "sbom", "chat_template.json": "chat-template"}
    if name in facts.data_files:
        return "weights"
    if name in known:
        return known[name]
    if base.endswith(".jinja"):
        return "chat-template"
    if base in tokenizer.FILES:
        return "tokenizer"
    if base in _CONFIG:
        return "config"
    return "licence" if upper.startswith(("LICENSE", "LICENCE", "NOTICE", "COPYING")) else "other"


def _run_elsewhere(made: Path, meta: Meta) -> None:
    """What counts is the copy alone, in a folder where nothing else is: there it is verified, loaded and run."""
    with tempfile.TemporaryDirectory(prefix="sluiceway-package-") as empty:
        copy = Path(empty) / "copy"
        shutil.copytree(made, copy)
        manifest = verify(copy)
        check_shapes(Model(copy / "model.onnx"), list(meta.batches))
        tokenizer.require_same("tokenizer", manifest.tokenizer, tokenizer.probe(copy), copy)
        tokenizer.require_same("chat template", manifest.chat, tokenizer.probe_chat(copy), copy)
