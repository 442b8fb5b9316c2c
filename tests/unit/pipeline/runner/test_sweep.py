"""A sweep: what variants share is made once, one that can't be made doesn't end the others, the front is marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.runner import sweep
from sluiceway.pipeline.runner.spawn import Job
from tests.unit.pipeline.runner.tiny_recipe import Stages, builder, checkout, validation


def test_without_variants_of_its_own_a_recipe_is_swept_over_the_usual_ones(tmp_path: Path) -> None:
    names = list(sweep.variants(checkout(tmp_path)))
    assert names == ["recipe", "fp32", "fp16", "int8-dynamic", "int8-weights", "int4-weights-32", "int4-weights-128"]


def test_the_recipes_variants_stand_in_for_the_usual_ones(tmp_path: Path) -> None:
    recipe = checkout(tmp_path, variants={"plain": [], "half": [{"kind": "fp16"}]})
    assert list(sweep.variants(recipe)) == ["recipe", "plain", "half"]


def test_variants_share_what_they_can_and_the_front_is_marked(tmp_path: Path) -> None:
    stages = Stages()
    sizes = iter([(0.99, 1.0), (1.0, 4.0), (0.98, 2.0)])

    def measured(_job: Job) -> None:
        cosine, size = next(sizes)
        stages.reports["validate"] = validation(figures={"cosine_min": cosine, "size_mb": size})

    stages.hooks["validate"] = measured
    recipe = checkout(tmp_path, variants={"plain": [], "half": [{"kind": "fold"}, {"kind": "fp16"}]})
    swept = sweep.run(builder(tmp_path, stages), recipe, fresh=False)
    assert stages.asked == ["source", "export", "fold", "int8-dynamic", "validate", "validate", "fp16", "validate"]
    assert [(row["name"], row["best"]) for row in swept.document["variants"]] == [
        ("recipe", True), ("plain", True), ("half", False),
    ]  # fmt: skip
    assert json.loads((tmp_path / "work" / "sweep.json").read_text()) == swept.document
    assert swept.plot.read_text().startswith("<svg") and "half" in swept.plot.read_text()
    assert [line.split()[0] for line in swept.lines[:4]] == ["variant", "recipe", "plain", "half"]


def test_a_variant_that_cant_be_made_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    def fail(_job: Job) -> None:
        raise UserError("no such operator", hint="do this")

    recipe = checkout(tmp_path, variants={"half": [{"kind": "fp16"}], "plain": []})
    swept = sweep.run(builder(tmp_path, Stages(hooks={"fp16": fail})), recipe, fresh=False)
    failed = {row["name"]: row["failed"] for row in swept.document["variants"]}
    assert failed["half"]["error"] == "no such operator" and failed["plain"] is None
    assert any(line == "half can't be made: no such operator" for line in swept.lines)


def test_what_all_variants_stand_on_ends_the_sweep(tmp_path: Path) -> None:
    def fail(_job: Job) -> None:
        raise SluicewayError("no source")

    with pytest.raises(SluicewayError, match="no source"):
        sweep.run(builder(tmp_path, Stages(hooks={"source": fail})), checkout(tmp_path), fresh=False)


def test_a_variant_that_misses_a_limit_is_never_best(tmp_path: Path) -> None:
    stages = Stages(reports={"validate": validation(verdict="fail", reasons=["cosine 0.1"])})
    swept = sweep.run(builder(tmp_path, stages), checkout(tmp_path, variants={"plain": []}), fresh=False)
    assert not any(row["best"] for row in swept.document["variants"])
    assert "plain: cosine 0.1" in swept.lines
