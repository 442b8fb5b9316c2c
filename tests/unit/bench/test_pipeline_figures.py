"""Figures of a model against its reference, on models of a few numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from bench.pipeline import figures

TABLE = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]], np.float32)


def written(folder: Path, output: str, table: np.ndarray) -> Path:
    """A model that answers each token with its row of ``table``."""
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"])
    given = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "length", "wide"])
    weight = helper.make_tensor("table", TensorProto.FLOAT, table.shape, table.tobytes(), raw=True)
    node = helper.make_node("Gather", ["table", "input_ids"], [output], axis=0)
    graph = helper.make_graph([node], "rows", [ids, mask], [given], [weight])
    folder.mkdir()
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx"
    )
    return folder / "model.onnx"


def reference(folder: Path, ids: object, answers: np.ndarray) -> Path:
    folder.mkdir()
    (folder / "ids.json").write_text(json.dumps(ids), "utf-8")
    np.save(folder / "reference.npy", answers)
    return folder


def test_a_decoder_that_answers_as_its_loader_has_no_divergence(tmp_path: Path) -> None:
    held = reference(tmp_path / "reference", [0, 1, 2], TABLE)
    found = figures.decoder(written(tmp_path / "model", "logits", TABLE), held)
    assert found["rows"] == 3
    assert (found["kl"], found["top1"], found["largest"]) == (0.0, 1.0, 0.0)
    # Each next token is one of the two that the model thinks less likely: e^0 / (e^2 + 2 e^0).
    assert found["perplexity"] == pytest.approx(math.exp(2.0) + 2)


def test_a_decoder_with_two_tokens_exchanged_is_seen(tmp_path: Path) -> None:
    held = reference(tmp_path / "reference", [0, 1, 2], TABLE)
    found = figures.decoder(written(tmp_path / "model", "logits", TABLE[[1, 0, 2]]), held)
    assert found["top1"] == pytest.approx(1 / 3)
    assert found["kl"] > 0.5 and found["largest"] == 2.0


def test_an_encoder_that_gives_tokens_alone_is_pooled_as_its_maker_does(tmp_path: Path) -> None:
    sentences = [[0], [0, 1], [2]]
    unit = np.array([[1, 0, 0], [math.sqrt(0.5), math.sqrt(0.5), 0], [0, 0, 1]], np.float32)
    found = figures.encoder(
        written(tmp_path / "model", "last_hidden_state", TABLE), reference(tmp_path / "reference", sentences, unit)
    )
    assert found["rows"] == 3
    assert found["cosine_min"] == pytest.approx(1.0)


def test_an_axis_is_named_and_nothing_else_of_the_file_changes(tmp_path: Path) -> None:
    model = written(tmp_path / "model", "logits", TABLE)
    before = onnx.load(model)
    figures.fixed(model, "wide", 3)
    after = onnx.load(model)
    assert [dim.dim_value for dim in after.graph.output[0].type.tensor_type.shape.dim] == [0, 0, 3]
    assert (after.graph.node, after.graph.initializer) == (before.graph.node, before.graph.initializer)


def test_the_size_is_of_the_graph_and_its_data(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"x" * 1000)
    (tmp_path / "model.onnx.data").write_bytes(b"x" * 2_000_000)
    (tmp_path / "tokenizer.json").write_bytes(b"x" * 5_000_000)
    assert figures.size_mb(tmp_path) == pytest.approx(2.001)
