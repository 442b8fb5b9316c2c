"""A recipe's stages, before any of them is made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from sluiceway.errors import UserError
from sluiceway.pipeline import source
from sluiceway.pipeline.passes.settings import PassBlock
from sluiceway.pipeline.recipe import Recipe
from sluiceway.pipeline.recipe.load import Passes
from sluiceway.pipeline.recipe.model import Export
from sluiceway.pipeline.runner.stage import Stage
from sluiceway.pipeline.types import Pass

SOURCE = 1
COMPARE = 2
VALIDATE = 1
PACKAGE = 1
"""They rise whenever the code here would make other files, or another report, of the same input."""
_LIBRARIES = ("onnx", "onnx-ir", "onnxruntime", "numpy")
"""What writes the files: another version of them may write other bytes."""


@dataclass(frozen=True)
class Plan:
    """``compare``: the export against the checkpoint, where there was something to export. ``passes`` in their order.

    ``validate`` reads the last model and the float one, ``package`` the last model, its figures and the source.
    """

    source: Stage
    export: Stage
    compare: Stage | None
    passes: tuple[Stage, ...]
    validate: Stage
    package: Stage

    @property
    def stages(self) -> tuple[Stage, ...]:
        """In the order in which they are made."""
        compare = () if self.compare is None else (self.compare,)
        return (self.source, self.export, *compare, *self.passes, self.validate, self.package)


def plan(recipe: Recipe, root: Path, passes: Passes | None = None) -> Plan:
    """The stages of ``recipe``, or of it with other ``passes``. UserError for settings that a pass refuses."""
    asked = recipe.passes if passes is None else passes
    libraries = {name: metadata.version(name) for name in _LIBRARIES}
    first = Stage("source", source.settings(recipe, root), (), SOURCE)
    export = Stage("export", _export(recipe.export, libraries), (first,), _export_version(recipe.export))
    made: list[Stage] = []
    for at, block in enumerate(asked):
        settings = {**_settings(recipe, block), "libraries": libraries}
        before = made[-1] if made else export
        version = maker(block, recipe, f"passes[{at}]").version
        made.append(Stage(block.kind, settings, (before,), version, block.model_dump(mode="json", exclude_unset=True)))
    last = made[-1] if made else export
    held = _held(recipe, root, libraries)
    drawn = recipe.export.kind != "given"
    compare = Stage("compare", held, (export, first), COMPARE) if drawn else None
    validate = Stage("validate", held, (last, export, first), VALIDATE)
    package = Stage("package", _package(recipe), (last, validate, first), PACKAGE)
    return Plan(first, export, compare, tuple(made), validate, package)


def maker(block: PassBlock, recipe: Recipe, at: str = "passes") -> Pass:
    """The pass that ``block`` asks for. UserError when it has no such pass, or not with these settings."""
    from sluiceway.pipeline.passes import PASSES

    if block.kind not in PASSES:
        hint = f"kinds: {', '.join(sorted(PASSES))}"
        raise UserError("no pass of this kind", path=recipe.where(f"{at}.kind"), got=block.kind, hint=hint)
    settings = block.model_dump(mode="json", exclude_unset=True)
    if "calibration" in settings:
        settings["calibration"] = str(recipe.folder / settings["calibration"])
    return PASSES[block.kind](settings)


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _export_version(settings: Export) -> int:
    from sluiceway.pipeline.graphs import export
    from sluiceway.pipeline.torch_export import call

    return call.VERSION if settings.tool == "torch" else export.VERSION


def _export(export: Export, libraries: dict[str, str]) -> dict[str, Any]:
    """Whether torch exports shows when the source is there, so what it is made of counts wherever it may."""
    from sluiceway.pipeline.torch_export import call, environment

    found = {**export.model_dump(mode="json"), "libraries": libraries}
    if export.kind == "given" or export.tool == "graphs":
        return found
    return {**found, "torch": {"lock": sha256_of(environment.LOCK), "version": call.VERSION}}


def _settings(recipe: Recipe, block: PassBlock) -> dict[str, Any]:
    found = block.model_dump(mode="json")
    if "calibration" in found:  # the rows decide, not the name of their file
        found["calibration"] = sha256_of(recipe.folder / found["calibration"])
    return found


def _held(recipe: Recipe, root: Path, libraries: dict[str, str]) -> dict[str, Any]:
    found = {
        "task": recipe.task,
        "limits": recipe.validate.model_dump(mode="json", exclude={"data"}),
        "data": sha256_of(recipe.data),
        "runtime": recipe.runtime.model_dump(mode="json"),
        "libraries": libraries,
    }
    if recipe.validate.encoder:
        found["code"] = source.module_digest(recipe.validate.encoder, root, recipe.where("validate.encoder"))
    return found


def _package(recipe: Recipe) -> dict[str, Any]:
    return {
        "model": recipe.model,
        "task": recipe.task,
        "recipe": recipe.name,
        "recipe_sha256": recipe.digest,
        "runtime": recipe.runtime.model_dump(mode="json"),
        "package": recipe.package.model_dump(mode="json"),
    }
