"""int4-weights: weights become int4 in blocks, activations stay floats. The smallest that still answers well."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluiceway.pipeline.passes import run
from sluiceway.pipeline.passes.settings import Int4Weights
from sluiceway.pipeline.types import Model, PassReport

BITS = {"int4": 4, "int8": 8, "fp32": None}


@dataclass(frozen=True)
class Int4WeightsPass:
    """MatMulNBits of 4 bits. The head has 8 by default: at 4 a model repeats itself."""

    settings: Int4Weights
    kind: str = "int4-weights"
    version: int = 1

    def run(self, source: Model, out: Path) -> PassReport:
        """A UserError for a block that does not fit a weight or a choice that means none."""
        return run.execute(self.kind, source, out, lambda folder: _quantise(source, folder, self.settings))


def _quantise(source: Model, folder: Path, settings: Int4Weights) -> run.Asked:
    from sluiceway.pipeline.passes import blockwise

    plan = blockwise.Wanted(
        body=4,
        head=BITS[settings.head],
        embedding=BITS[settings.embedding],
        shared=settings.tied == "shared" and "fp32" not in (settings.head, settings.embedding),
        block=settings.block,
        symmetric=settings.symmetric,
        accuracy=settings.accuracy,
        keep=settings.keep,
        finer=settings.int8,
    )
    return blockwise.quantise(source, folder, plan)
