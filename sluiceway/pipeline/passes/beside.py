"""beside: weights move out of the graph's file, into model.onnx.data beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.passes.settings import Beside
from sluiceway.pipeline.types import Model, PassReport


@dataclass(frozen=True)
class BesidePass:
    """For a runtime with little memory: weights inside the graph are there three times while it is read.

    The last pass of a recipe, since others write models that fit a graph's file into it.
    """

    settings: Beside
    kind: str = "beside"
    version: int = 1

    def run(self, source: Model, out: Path) -> PassReport:
        """An error where no weight is as large as the least that moves."""
        from sluiceway.pipeline.passes import run, store

        with run.aside(out) as folder, run.named(self.kind):
            model = store.load(source.path)
            sizes = store.sizes(model)
            moved = {name: size for name, size in sizes.items() if size >= self.settings.least}
            if not moved:
                hint = f"no weight has {self.settings.least} bytes: leave the pass out"
                raise SluicewayError("nothing would move", path="least", got=max(sizes.values(), default=0), hint=hint)
            store.save_beside(model, folder, self.settings.least)
            made = Model(folder / "model.onnx")
            run.check(made)
            before, after = store.size_of(source.path), store.size_of(made.path)
            run.move(folder, out)
        note = f"{sum(moved.values())} of {sum(sizes.values())} bytes of weights lie beside the graph"
        return PassReport(self.kind, len(sizes), len(moved), len(moved), before, after, (note,))
