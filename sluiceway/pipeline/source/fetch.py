"""One source, whatever its kind, as a folder of plain files; and what makes it the same source another time."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.checks import Limits, check_folder
from sluiceway.pipeline.recipe.load import FOLDER, Folder, Recipe, Train
from sluiceway.pipeline.recipe.model import HuggingFace, Wheel
from sluiceway.pipeline.source import archive, folder, hub, kinds, remote_code, wheel


@dataclass(frozen=True)
class Fetched:
    """``origin``: where the weights are from, as a package's manifest tells it."""

    origin: dict[str, Any]


def settings(recipe: Recipe, root: Path) -> dict[str, Any]:
    """What decides the bytes of the source: its pins, or the sha256 of what lies in the checkout."""
    source = recipe.source
    if isinstance(source, Wheel):
        return {"wheel": {"sha256": source.sha256, "folder": source.folder}}
    if isinstance(source, HuggingFace):
        return {"huggingface": source.model_dump(mode="json")}
    if isinstance(source, Folder):
        return {"folder": tree_digest(source.path)}
    code = module_digest(source.module, root, recipe.where("source.train"))
    return {"train": {"module": source.module, "code": code}}


def fetch(recipe: Recipe, root: Path, cache: Path, out: Path) -> Fetched:
    """Puts the source's files into ``out``. UserError or SluicewayError when it can't be had or isn't safe."""
    source = recipe.source
    allowed: tuple[str, ...] = ()
    if isinstance(source, Wheel):
        shown = recipe.where("source.wheel")
        kept = wheel.get(source, cache / "wheels", shown)
        archive.unpack(kept, source.folder, out, shown)
        origin: dict[str, Any] = {"wheel": source.model_dump(mode="json")}
    elif isinstance(source, HuggingFace):
        shown = recipe.where("source.huggingface")
        allowed = source.allow_code
        hub.get(source, cache / "hub", out, shown)
        origin = {"huggingface": {"id": source.id, "revision": source.revision}}
    elif isinstance(source, Folder):
        shown = recipe.where("source.folder")
        folder.copy(source.path, out, shown, _data(source.path))
        origin = {"folder": source.path.name}
    else:
        shown = recipe.where("source.train")
        _train(source, root, out, shown)
        origin = {"train": source.module}
    if packed := _unpacked(out, shown):
        origin = {**origin, "gguf": packed}
    remote_code.check(out, allowed, shown)
    check_folder(out, Limits(), _data(out))
    return Fetched(origin)


def _unpacked(out: Path, shown: str) -> str | None:
    """A GGUF file becomes the checkpoint that it was made of; its name, or None where the source has none."""
    found = sorted(out.rglob("*.gguf"))
    if not found:
        return None
    if len(found) > 1:
        hint = "a source has one; name a folder with that one alone"
        names = ", ".join(path.name for path in found)
        raise UserError("there are several GGUF files here", path=shown, got=names, hint=hint)
    from sluiceway.pipeline.graphs.unpack import unpack

    unpack(found[0], out)
    found[0].unlink()
    return found[0].name


def _data(top: Path) -> frozenset[str]:
    """Names of the files with external data of a model.onnx that lies there; it may call them as it likes."""
    if not (top / "model.onnx").is_file():
        return frozenset()
    from sluiceway.pipeline.checks import external, proto

    return external.data_files(proto.parse(top / "model.onnx"))


def tree_digest(top: Path) -> str:
    """sha256 over the names and bytes of all files below ``top``, whatever their times and their order on disk."""
    return _digest(folder.files(top))


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    running = hashlib.sha256()
    for name, path in files:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        running.update(f"{digest} {name}\n".encode())
    return running.hexdigest()


def module_digest(name: str, root: Path, shown: str) -> str:
    """Of all files in the folder of a module of the checkout, and of all code of recipes, which it may import."""
    file = root.joinpath(*name.split(".")).with_suffix(".py")
    if not file.is_file():
        hint = f"write {file.relative_to(root).as_posix()}, or correct the name"
        raise UserError("no such module", path=shown, got=name, hint=hint)
    return _digest([*folder.files(file.parent), *_code(root / FOLDER)])


def _code(recipes: Path) -> list[tuple[str, Path]]:
    return [(name, path) for name, path in folder.files(recipes) if name.endswith(".py")]


def _train(source: Train, root: Path, out: Path, shown: str) -> None:
    sys.path.insert(0, str(root))
    module = importlib.import_module(source.module)
    build = getattr(module, "build", None)
    if build is None:
        hint = "add def build(out: Path) -> None, which writes model.onnx and what belongs to it"
        raise UserError("the module has no function build", path=shown, got=source.module, hint=hint)
    build(out)
    made = [name for name, _ in folder.files(out)]
    if "model.onnx" not in made:
        hint = "its build(out) writes out/model.onnx"
        raise SluicewayError("the training wrote no model.onnx", path=shown, hint=hint)
    kinds.require_weights(made, (), shown)
