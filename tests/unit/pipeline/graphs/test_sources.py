"""Folders of a checkpoint: several files of weights, and files at fault."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from sluiceway.errors import UserError
from sluiceway.pipeline.graphs.export import ExportSettings, export
from tests.unit.pipeline.graphs import tiny

ENCODER = ExportSettings("encoder")


def tensors() -> tiny.Tensors:
    return tiny.bert_tensors(np.random.default_rng(7))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("config.json", "{", r"config\.json: this isn't JSON"),
        ("config.json", "[]", "this isn't an object"),
        ("model.safetensors", "not tensors", "this isn't a safetensors file"),
        ("model.safetensors.index.json", '{"weight_map": 3}', "the index has no weight_map"),
        ("model.safetensors.index.json", '{"weight_map": {"a": "../x.safetensors"}}', "a file that isn't here"),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense"}]', "isn't drawn here, got 'Dense'"),
        ("modules.json", "{}", "this isn't a list of modules"),
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}', "pooling must be the mean or the first token"),
        ("1_Pooling/config.json", "[]", "pooling must be the mean or the first token"),
    ],
)
def test_a_file_of_the_folder_at_fault_is_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    source = tiny.write(tmp_path / "source", tiny.bert_config(), tensors())
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}', encoding="utf-8")
    (source / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        export(source, tmp_path, ENCODER)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    source = tiny.write(tmp_path / "source", tiny.bert_config(), tensors())
    (source / name).unlink()
    with pytest.raises(UserError, match=f"there is no {name} here"):
        export(source, tmp_path, ENCODER)


@pytest.mark.parametrize(
    ("settings", "message"),
    [(ExportSettings("decoder"), "a kind is encoder"), (ExportSettings("encoder", opset=16), "an opset from 17")],
)
def test_a_setting_that_can_not_be_drawn_is_refused(tmp_path: Path, settings: ExportSettings, message: str) -> None:
    source = tiny.write(tmp_path / "source", tiny.bert_config(), tensors())
    with pytest.raises(UserError, match=message):
        export(source, tmp_path, settings)


def test_weights_in_several_files_make_the_same_model(tmp_path: Path) -> None:
    whole = tiny.write(tmp_path / "whole", tiny.bert_config(), tensors())
    split = tiny.write(tmp_path / "split", tiny.bert_config(), {})
    (split / "model.safetensors").unlink()
    files = {name: f"model-{number % 2 + 1}-of-2.safetensors" for number, name in enumerate(tensors())}
    for file in set(files.values()):
        save_file({name: tensors()[name] for name in files if files[name] == file}, split / file)
    (split / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}), encoding="utf-8")
    made = []
    for source in (whole, split):
        (tmp_path / f"{source.name}-out").mkdir()
        made.append(export(source, tmp_path / f"{source.name}-out", ENCODER).path.read_bytes())
    assert made[0] == made[1]
