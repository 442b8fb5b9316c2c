"""int8-weights: weights become int8 in blocks, activations stay floats. The safe choice for a language model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluiceway.pipeline.passes import run
from sluiceway.pipeline.passes.settings import Int8Weights
from sluiceway.pipeline.types import Model, PassReport


@dataclass(frozen=True)
class Int8WeightsPass:
    """MatMulNBits of 8 bits; a table of embeddings becomes GatherBlockQuantized, one with the head where it is tied."""

    settings: Int8Weights
    kind: str = "int8-weights"
    version: int = 1

    def run(self, source: Model, out: Path) -> PassReport:
        """A UserError for a block that does not fit a weight or a choice that means none."""
        return run.execute(self.kind, source, out, lambda folder: _quantise(source, folder, self.settings))


def _quantise(source: Model, folder: Path, settings: Int8Weights) -> run.Asked:
    from sluiceway.pipeline.passes import blockwise

    plan = blockwise.Wanted(
        body=8,
        head=None if settings.head == "fp32" else 8,
        embedding=None if settings.embedding == "fp32" else 8,
        shared=settings.embedding == "int8" and settings.head == "int8",
        block=settings.block,
        symmetric=settings.symmetric,
        accuracy=settings.accuracy,
        keep=settings.keep,
    )
    return blockwise.quantise(source, folder, plan)
