"""Who exports: a graph drawn by hand where the architecture is known, else torch; or whom the recipe names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sluiceway.pipeline.recipe.model import Export
from sluiceway.pipeline.torch_export import choice
from tests.unit.pipeline.graphs import tiny

SCALED = {"rope_theta": 5000.0, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}


def source(folder: Path, config: dict[str, object]) -> Path:
    return tiny.write(folder / "source", config, tiny.llama_tensors(np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("kind", "config", "tool"),
    [
        ("causal-lm", tiny.llama_config(), "graphs"),
        ("causal-lm", tiny.llama_config(**SCALED), "torch"),
        ("causal-lm", tiny.llama_config(hidden_act="gelu"), "torch"),
        ("causal-lm", tiny.llama_config(model_type="deepseek_v3"), "torch"),
        ("encoder", tiny.bert_config(), "graphs"),
        ("encoder", tiny.bert_config(model_type="xlm-roberta"), "torch"),
        ("classifier", tiny.bert_config(model_type="distilbert"), "torch"),
    ],
)
def test_an_architecture_that_is_drawn_here_needs_no_torch(
    tmp_path: Path, kind: str, config: dict[str, object], tool: str
) -> None:
    export = Export.model_validate({"kind": kind})
    assert choice.tool(export, source(tmp_path, config)) == tool


@pytest.mark.parametrize("change", [{"rope_theta": None}, {"num_attention_heads": 0}])
def test_a_config_at_fault_goes_to_the_exporter_that_says_why(tmp_path: Path, change: dict[str, object]) -> None:
    assert choice.tool(Export(kind="causal-lm"), source(tmp_path, tiny.llama_config(**change))) == "graphs"


def test_a_recipe_may_name_the_tool(tmp_path: Path) -> None:
    found = source(tmp_path, tiny.llama_config())
    assert choice.tool(Export(kind="causal-lm", tool="torch"), found) == "torch"
    assert choice.tool(Export(kind="given", tool="torch"), found) == "graphs"
