"""What holds a model to its weights: the export to the checkpoint, the last model to the float one; and the package."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.checks import check_model, check_shapes
from sluiceway.pipeline.package import Meta, package
from sluiceway.pipeline.runner.step import GRAPH, Step, limits
from sluiceway.pipeline.signing import call as signing
from sluiceway.pipeline.torch_export import choice
from sluiceway.pipeline.types import Model

if TYPE_CHECKING:
    from sluiceway.pipeline.validate.encode import Encoder

FAITHFUL: Final = {
    "embed": {"min_cosine": 0.9999},
    "classify": {"min_top1": 0.99, "max_kl": 1e-4},
    "chat": {"min_top1": 0.99, "max_kl": 1e-4},
}
"""What an export must hold against the checkpoint: it may round in other places, and no more."""

COMPARED: Final = 10
"""Rows of the data that the export is held to the checkpoint on."""

_MEASURED: Final = ("tokens_per_second", "decode_tokens_per_second")
"""Figures that differ from run to run; a package holds what the same input gives again."""


def compare(step: Step) -> dict[str, Any]:
    """The export against the checkpoint, computed by code that the exporter shares nothing with.

    Of an architecture that only torch knows it is told what torch itself answered, which the export was held to.
    """
    from sluiceway.pipeline.validate.settings import Settings
    from sluiceway.pipeline.validate.validate import validate as measure

    exported, checkpoint = step.inputs
    by_torch = _report(step, "export").get("torch")
    if by_torch is not None and not choice.is_drawn(step.recipe.export.kind, checkpoint):
        return {"torch": by_torch["compared"]}  # nothing here computes it a second time but what loaded the weights
    asked = step.recipe.validate.model_dump(include={"batches", "longest"})
    settings = Settings.of(step.recipe.task, {**asked, **FAITHFUL[step.recipe.task], "rounds": 0})
    some = step.out.with_name("some.jsonl")
    some.write_text(sample(step.recipe.data.read_text(encoding="utf-8")), encoding="utf-8")
    report = measure(exported / GRAPH, checkpoint, settings, some, _encoder(step))
    some.unlink()
    if report.verdict == "pass":
        return report.document()
    hint = "the export draws this architecture wrongly: report it with the model's config.json"
    raise SluicewayError(
        f"the export isn't the checkpoint's model: {'; '.join(report.reasons)}",
        path=step.recipe.where("export"),
        hint=hint,
    )


def sample(text: str) -> str:
    """COMPARED of the lines, from first to last: the float64 forward is slow, and a wrong graph is wrong everywhere."""
    lines = [line for line in text.split("\n") if line.strip()]
    count = min(COMPARED, len(lines))
    return "\n".join(lines[at * (len(lines) - 1) // max(count - 1, 1)] for at in range(count)) + "\n"


def validate(step: Step) -> dict[str, Any]:
    """The last model against the float one; a limit that isn't kept is told in the report, not raised."""
    from sluiceway.pipeline.validate.settings import Settings
    from sluiceway.pipeline.validate.validate import validate as measure

    last, exported, _ = step.inputs
    model = Model(last / GRAPH)
    check_model(model, limits(step.recipe))
    check_shapes(model, [(rows, length) for rows, length in step.recipe.validate.batches])
    settings = Settings.of(step.recipe.task, step.recipe.validate.model_dump(exclude={"data", "encoder"}))
    return measure(model.path, exported / GRAPH, settings, step.recipe.data, _encoder(step)).document()


def pack(step: Step) -> dict[str, Any]:
    """The folder that is published."""
    last, _, checkpoint = step.inputs
    recipe = step.recipe
    passes = [report["pass"] for report in step.reports if "pass" in report]
    meta = Meta(
        model=recipe.model,
        task=recipe.task,
        precision=precision([report["kind"] for report in passes]),
        source=_report(step, "source")["origin"],
        recipe=recipe.name,
        recipe_sha256=recipe.digest,
        runtime=recipe.runtime.model_dump(),
        passes=passes,
        metrics=_metrics(_report(step, "validate")),
        licence=recipe.package.licence,
        batches=[(rows, length) for rows, length in recipe.validate.batches],
        sbom=recipe.package.sbom,
    )
    made = package(Model(last / GRAPH), meta, step.out, source=checkpoint)
    if step.signer is not None:
        signing.sign(step.out, signing.named_key(os.environ), step.signer)
    return {
        "digest": made.digest,
        "files": [file.name for file in made.manifest.files],
        "signed": step.signer is not None,
    }


def precision(kinds: list[str]) -> str:
    """``fp32``, or the kinds of the passes that changed it: ``int8-dynamic``."""
    return "+".join(kind for kind in kinds if kind != "fold") or "fp32"


def _report(step: Step, kind: str) -> dict[str, Any]:
    return next(report for report in step.reports if report["kind"] == kind)


def _metrics(report: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in report["figures"].items() if name not in _MEASURED}
    asked = [limit for limit in report["limits"] if limit["name"] != "min_tokens_per_second"]
    return {"figures": kept, "limits": asked, "cpu": report["cpu"]}


def _encoder(step: Step) -> Encoder | None:
    """What makes the features of a model that takes no tokens; None where its tokenizer lies beside it."""
    name = step.recipe.validate.encoder
    if name is None:
        return None
    sys.path.insert(0, str(step.root))
    make = getattr(importlib.import_module(name), "encoder", None)
    if make is None:
        hint = "add def encoder(), which returns sluiceway.pipeline.validate.encode's Features"
        path = step.recipe.where("validate.encoder")
        raise UserError("the module has no function encoder", path=path, got=name, hint=hint)
    made: Encoder = make()
    return made
