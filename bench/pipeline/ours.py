"""The process that one model of ours is made in: the stages of a recipe, on a checkpoint that others read too.

    python -m bench.pipeline.ours RECIPE export CHECKPOINT OUT
    python -m bench.pipeline.ours RECIPE PASSES FLOAT OUT

PASSES: ``passes``, the name of one of the recipe's ``variants``, or a list of passes as JSON. FLOAT is the folder of an
export.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from sluiceway.pipeline.recipe import load
from sluiceway.pipeline.recipe.load import Passes, Recipe, parse_pass
from sluiceway.pipeline.types import Model

ROOT = Path(__file__).resolve().parents[2]


def main(name: str, asked: str, source: Path, out: Path) -> None:
    recipe = load(ROOT, name)
    if asked == "export":
        _export(recipe, source, out)
    else:
        _passes(recipe, _asked(recipe, asked), source, out)


def _export(recipe: Recipe, source: Path, out: Path) -> None:
    from sluiceway.pipeline.graphs.export import ExportSettings, export

    stated = recipe.export
    export(source, out, ExportSettings(stated.kind, stated.opset or 17, stated.ir or 8))


def _asked(recipe: Recipe, asked: str) -> Passes:
    if asked.startswith("["):
        return tuple(parse_pass(recipe.folder, raw, f"passes[{at}]", str) for at, raw in enumerate(json.loads(asked)))
    return recipe.passes if asked == "passes" else recipe.variants[asked]


def _passes(recipe: Recipe, passes: Passes, source: Path, out: Path) -> None:
    """One after the other; only what the last one made stays."""
    from sluiceway.pipeline.runner.plan import maker

    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".stages-") as scratch:
        stage = source
        for at, block in enumerate(passes):
            made = Path(scratch) / str(at)
            made.mkdir()
            maker(block, recipe).run(Model(stage / "model.onnx"), made)
            stage = made
        shutil.copytree(stage, out, dirs_exist_ok=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
