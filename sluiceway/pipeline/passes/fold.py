"""fold: constants computed once, the graph cleaned, the tied head's table made a weight of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluiceway.pipeline.passes.settings import Fold
from sluiceway.pipeline.types import Model, PassReport


@dataclass(frozen=True)
class FoldPass:
    """What is computed from weights alone becomes a weight, where that makes the file no larger.

    A Transpose of a table that is also looked up makes it larger by the table; ``tied: own`` does it all the same,
    since the quantisers of onnxruntime don't see the head otherwise.
    """

    settings: Fold
    kind: str = "fold"
    version: int = 1

    def run(self, source: Model, out: Path) -> PassReport:
        """A model in which nothing is to fold goes through as it is, and the report says so."""
        from sluiceway.pipeline.passes import constants

        return constants.fold(source, out, self.settings)
