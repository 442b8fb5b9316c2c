"""A stage as its own process sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sluiceway.pipeline.checks import Limits
from sluiceway.pipeline.recipe import Recipe

GRAPH: Final = "model.onnx"


@dataclass(frozen=True)
class Step:
    """``inputs``: the folders of the stages that it reads, in their order. ``out`` is there, and empty.

    ``block``: a pass as its recipe has it; ``reports``: those of the stages before it, in their order, each with its
    ``kind``. ``cache``: where fetched sources are kept. ``torch``, ``signer``: the interpreters that have torch and
    model-signing, where they are needed.
    """

    recipe: Recipe
    root: Path
    cache: Path
    kind: str
    block: Mapping[str, Any] | None
    inputs: tuple[Path, ...]
    reports: list[dict[str, Any]]
    out: Path
    torch: Path | None = None
    signer: Path | None = None


def limits(recipe: Recipe) -> Limits:
    """What every model of the build is held to before anything opens it."""
    return Limits(runtimes=recipe.runtime.model_dump())
