"""Reads a recipe. The first fault is told with its file and path, before anything is fetched or made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from sluiceway.domain.model import Task
from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError
from sluiceway.pipeline.passes.settings import PASS_BLOCKS, Int8Static, PassBlock
from sluiceway.pipeline.recipe.model import (
    QUALITY,
    TASKS,
    Export,
    HuggingFace,
    PackageBlock,
    RecipeFile,
    Runtime,
    Validate,
    Wheel,
)
from sluiceway.settings import yaml_file
from sluiceway.settings.faults import told

FOLDER = "models/recipes"
Where = Callable[[str], str]
Passes = tuple[PassBlock, ...]


@dataclass(frozen=True)
class Folder:
    """A source that lies in the checkout."""

    path: Path


@dataclass(frozen=True)
class Train:
    """A module of the checkout that makes the source."""

    module: str


Source = Folder | Wheel | HuggingFace | Train


@dataclass(frozen=True)
class Recipe:
    """A recipe whose values were found good. ``name`` is its file's, ``folder`` is models/recipes of the checkout.

    ``data``: the rows that the model is validated on. ``file``: the recipe as errors name it, ``document``:
    what it said when it was read.
    """

    name: str
    file: str
    document: Mapping[str, Any]
    folder: Path
    model: str
    task: Task
    source: Source
    export: Export
    passes: Passes
    variants: Mapping[str, Passes]
    validate: Validate
    data: Path
    runtime: Runtime
    package: PackageBlock

    @property
    def digest(self) -> str:
        """sha256 of what the recipe says of its one model: without its remarks, its layout and its variants."""
        said = {key: value for key, value in self.document.items() if key != "variants"}
        return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def where(self, dotted: str) -> str:
        """``passes[1].block`` -> the path of that value for an error."""
        return f"{self.file}: {dotted}"


def names(root: Path) -> tuple[str, ...]:
    """The recipes of the checkout at ``root``."""
    return tuple(sorted(path.stem for path in (root / FOLDER).glob("*.yaml")))


def find(root: Path, asked: str) -> Path:
    """The file of the recipe named ``asked``, or at that path. UserError when there is none."""
    known = names(root)
    if asked.endswith((".yaml", ".yml")):
        if not Path(asked).is_file():
            hint = f"write it, or name a recipe of {FOLDER}: {', '.join(known) or 'none'}"
            raise UserError("the file doesn't exist", path=asked, hint=hint)
        return Path(asked)
    if asked not in known:
        near = nearest(asked, known)
        hint = f"did you mean {near}?" if near else f"recipes here: {', '.join(known) or 'none'}"
        raise UserError("no such recipe", path=FOLDER, got=asked, hint=hint)
    return root / FOLDER / f"{asked}.yaml"


def load(root: Path, asked: str, document: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe ``asked`` (a name, or a path of a YAML file); ``document`` is taken for what the file says.

    UserError at the first fault.
    """
    path = find(root, asked)
    shown = f"{FOLDER}/{path.name}" if path.parent == root / FOLDER else str(path)

    def where(dotted: str) -> str:
        return f"{shown}: {dotted}" if dotted else shown

    name = yaml_file.model_name(path, shown)
    said = yaml_file.read(path, shown) if document is None else dict(document)
    try:
        stated = RecipeFile.model_validate(said)
    except ValidationError as error:
        raise told(error, RecipeFile, where) from None
    return replace(_recipe(name, shown, path.parent, stated, where), document=said)


def _recipe(name: str, shown: str, folder: Path, stated: RecipeFile, where: Where) -> Recipe:
    source = _source(folder, stated, where)
    variants = {variant: _passes(folder, raw, f"variants.{variant}", where) for variant, raw in stated.variants.items()}
    passes = _passes(folder, stated.passes, "passes", where)
    _check_limits(stated.validate, where)
    _check_task(stated, where)
    return Recipe(
        name=name,
        file=shown,
        document=MappingProxyType({}),
        folder=folder,
        model=stated.model,
        task=stated.task,
        source=source,
        export=stated.export,
        passes=passes,
        variants=MappingProxyType(variants),
        validate=stated.validate,
        data=_file(folder, stated.validate.data, where("validate.data")),
        runtime=stated.runtime,
        package=stated.package,
    )


def _source(folder: Path, stated: RecipeFile, where: Where) -> Source:
    given = [key for key in ("folder", "wheel", "huggingface", "train") if getattr(stated.source, key) is not None]
    if len(given) != 1:
        hint = "give one of folder, wheel, huggingface, train" if not given else f"keep one of {', '.join(given)}"
        raise UserError("a recipe has exactly one source", path=where("source"), hint=hint)
    found = getattr(stated.source, given[0])
    if given[0] == "folder":
        path = folder / found
        if not path.is_dir():
            hint = f"put the model's files into {FOLDER}/{found}, or correct the path, which begins in {FOLDER}/"
            raise UserError("the folder doesn't exist", path=where("source.folder"), got=found, hint=hint)
        return Folder(path)
    return Train(found) if given[0] == "train" else found


def _passes(folder: Path, raw: Sequence[Mapping[str, Any]], key: str, where: Where) -> Passes:
    return tuple(parse_pass(folder, each, f"{key}[{at}]", where) for at, each in enumerate(raw))


def parse_pass(folder: Path, raw: Mapping[str, Any], at: str, where: Where) -> PassBlock:
    """One pass of a recipe in ``folder``; ``at``: its place there, and ``where`` makes a path of it for errors."""
    kinds = ", ".join(PASS_BLOCKS)
    if "kind" not in raw:
        raise UserError("is required", path=where(f"{at}.kind"), hint=f"add kind: one of {kinds}")
    block = PASS_BLOCKS.get(str(raw["kind"]))
    if block is None:
        near = nearest(str(raw["kind"]), tuple(PASS_BLOCKS))
        hint = f"did you mean {near}?" if near else f"kinds: {kinds}"
        raise UserError("no pass of this kind", path=where(f"{at}.kind"), got=raw["kind"], hint=hint)
    try:
        found = block.model_validate(dict(raw))
    except ValidationError as error:
        raise told(error, block, lambda dotted: where(f"{at}.{dotted}" if dotted else at)) from None
    if isinstance(found, Int8Static):
        _file(folder, found.calibration, where(f"{at}.calibration"))
    return found


def _file(folder: Path, name: str, path: str) -> Path:
    found = folder / name
    if not found.is_file():
        hint = f"write it, or correct the path, which begins in {FOLDER}/"
        raise UserError("the file doesn't exist", path=path, got=name, hint=hint)
    return found


def _check_task(stated: RecipeFile, where: Where) -> None:
    """The export's answers are of one task; a source that is ONNX already may be of any."""
    task = TASKS.get(stated.export.kind)
    if task is not None and task != stated.task:
        kinds = " or ".join([*(kind for kind, made in TASKS.items() if made == stated.task), "given"])
        raise UserError(
            f"{stated.export.kind} makes a model of task {task}, and task is {stated.task}",
            path=where("export.kind"),
            got=stated.export.kind,
            hint=f"write task: {task}, or kind: {kinds}",
        )


def _check_limits(validate: Validate, where: Where) -> None:
    """A validation without a limit of quality can't fail."""
    if all(getattr(validate, key) is None for key in QUALITY):
        hint = f"add one of {', '.join(QUALITY)}"
        raise UserError("a recipe states at least one limit of quality", path=where("validate"), hint=hint)
