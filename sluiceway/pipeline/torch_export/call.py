"""The export in torch's own process, as a stage asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sluiceway.pipeline.recipe import Recipe
from sluiceway.pipeline.recipe.model import HuggingFace
from sluiceway.pipeline.runner.spawn import Job, run
from sluiceway.pipeline.torch_export import choice

VERSION: Final = 1
"""Rises whenever the same source would give other bytes."""
_CALL: Final = "sluiceway.pipeline.torch_export.run:export"


def export(recipe: Recipe, source: Path, out: Path, python: Path) -> dict[str, Any]:
    """What `run.export` reports, and ``peak_mb`` of its process; ``python``: the interpreter that has torch.

    Raises what it raised, and SluicewayError when its process died.
    """
    settings = recipe.export
    arguments = {
        "source": str(source),
        "out": str(out),
        "kind": settings.kind,
        "opset": settings.opset or choice.OPSETS["torch"],
        "ir": settings.ir or choice.IRS["torch"],
        "code": isinstance(recipe.source, HuggingFace) and bool(recipe.source.allow_code),
    }
    outcome = run(Job(_CALL, arguments, recipe.where("export"), str(python)))
    return {**outcome.report, "peak_mb": round(outcome.peak_mb, 1)}
