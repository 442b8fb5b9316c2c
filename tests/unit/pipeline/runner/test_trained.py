"""The recipes that train: what they make is what models/ states, and they are validated on what was held out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.recipes.intent import recipe as intent
from models.recipes.router import recipe as router
from sluiceway import catalog
from sluiceway.pipeline.recipe import load
from sluiceway.pipeline.runner import steps
from sluiceway.pipeline.runner.spawn import Job, Outcome
from sluiceway.workspace import Workspace
from tests.unit.pipeline.runner.tiny_recipe import Stages, builder

ROOT = Path(__file__).resolve().parents[4]


def here(job: Job) -> Outcome:
    return Outcome(steps.run(**job.arguments), 1.0)


@pytest.mark.parametrize("made", [intent, router], ids=["intent", "router"])
def test_the_rows_of_a_recipe_are_what_its_training_holds_out(made: object) -> None:
    assert made.ROWS.read_text("utf-8") == made.rows()  # type: ignore[attr-defined]


def test_the_recipe_of_intent_makes_the_file_that_models_states(tmp_path: Path) -> None:
    there = builder(tmp_path, Stages())
    built = replace(there, root=ROOT, run=here).build(load(ROOT, "intent"))
    assert built.package is not None and (built.package / "model.json").is_file()
    stated = catalog.load(Workspace(ROOT)).model("intent", "models").versions[0].files[0]
    assert built.made[1].record.files["model.onnx"].sha256 == stated.sha256
    assert built.made[2].record.report["figures"]["accuracy"] >= 0.8
