"""What of the export needs no torch: what is refused before it is imported, and what becomes of config.json."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.torch_export import load
from sluiceway.pipeline.torch_export.run import export, state_base_twice


def test_an_opset_that_torch_never_wrote_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="from opset 18 on"):
        export(str(tmp_path), str(tmp_path), "causal-lm", 17, None, False)


@pytest.mark.parametrize(
    "stated", [{"rope_theta": 5e5}, {"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}]
)
def test_the_base_of_the_rotary_embedding_is_written_for_older_and_newer_loaders(
    tmp_path: Path, stated: dict[str, object]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "glm4", **stated}))
    state_base_twice(path, SimpleNamespace(rope_parameters={"rope_theta": 5e5, "rope_type": "default"}))
    both = {"rope_theta": 5e5, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}
    assert json.loads(path.read_text()) == {"model_type": "glm4", **both}


def test_a_config_without_rotary_embedding_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{}")
    state_base_twice(path, SimpleNamespace())
    assert path.read_text() == "{}"


def test_weights_that_transformers_would_make_up_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the weights lack a\.weight"):
        load._require_whole({"missing_keys": {"a.weight"}}, "causal-lm", tmp_path)
    with pytest.raises(UserError, match=r"the weights misfit"):
        load._require_whole({"mismatched_keys": {("a", (1,), (2,))}}, "causal-lm", tmp_path)


def test_an_encoder_does_without_its_pooler_and_a_classifier_not(tmp_path: Path) -> None:
    told = {"missing_keys": {"pooler.dense.weight"}}
    load._require_whole(told, "encoder", tmp_path)
    with pytest.raises(UserError, match="pooler"):
        load._require_whole(told, "classifier", tmp_path)


@pytest.mark.parametrize(("key", "has"), [("n_routed_experts", True), ("num_local_experts", True), ("layers", False)])
def test_experts_are_told_by_the_config(key: str, has: bool) -> None:
    assert load.has_experts(SimpleNamespace(config=SimpleNamespace(**{key: 8}))) is has
