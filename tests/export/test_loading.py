"""What may be loaded: safetensors that are whole, and no code that nobody allowed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.runner.spawn import Job, run
from tests.export.checkout import python
from tests.unit.pipeline.graphs import tiny

CODE = """from pathlib import Path
from transformers import LlamaForCausalLM
Path({marker!r}).write_text("ran")

class Tiny(LlamaForCausalLM):
    pass
"""


def source(folder: Path) -> Path:
    return tiny.write(folder / "source", tiny.llama_config(), tiny.llama_tensors(np.random.default_rng(1)))


def export(folder: Path, code: bool = False) -> None:
    out = folder / f"out-{code}"
    out.mkdir()
    asked = {"source": str(folder / "source"), "out": str(out), "kind": "causal-lm", "opset": 21, "ir": 10}
    run(Job("sluiceway.pipeline.torch_export.run:export", {**asked, "code": code}, "tiny: export", python()))


def test_weights_that_are_missing_are_named_and_not_made_up(tmp_path: Path) -> None:
    tensors = tiny.llama_tensors(np.random.default_rng(1))
    del tensors["model.layers.1.mlp.up_proj.weight"]
    tiny.write(tmp_path / "source", tiny.llama_config(), tensors)
    with pytest.raises(UserError, match=r"the weights lack model\.layers\.1\.mlp\.up_proj\.weight"):
        export(tmp_path)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    folder = source(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"transformers can't load it: .*safetensors"):
        export(tmp_path)


def test_two_bases_of_the_rotary_embedding_are_refused(tmp_path: Path) -> None:
    """transformers takes the newer key in silence."""
    folder = source(tmp_path)
    config = tiny.llama_config(rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="rope_theta and rope_parameters differ"):
        export(tmp_path)


def test_a_models_own_code_runs_only_where_it_is_allowed(tmp_path: Path) -> None:
    folder, marker = source(tmp_path), tmp_path / "marker"
    (folder / "modeling_tiny.py").write_text(CODE.format(marker=str(marker)))
    config = tiny.llama_config(auto_map={"AutoModelForCausalLM": "modeling_tiny.Tiny"})
    (folder / "config.json").write_text(json.dumps(config))
    export(tmp_path)
    assert not marker.exists()
    export(tmp_path, code=True)
    assert marker.read_text() == "ran"
