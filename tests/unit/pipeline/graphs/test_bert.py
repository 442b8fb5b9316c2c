"""The BERT encoder without torch, against the float64 forward."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.graphs.export import ExportSettings, export
from sluiceway.pipeline.validate.reference import load_reference
from tests.unit.pipeline.graphs import tiny
from tests.unit.pipeline.graphs.sessions import exported, padded, run, tokens

ENCODER = ExportSettings("encoder")
CLOSE = 2e-6


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return exported(tmp_path, tiny.bert_config(), tiny.bert_tensors(rng()), ENCODER)


@pytest.mark.parametrize("lengths", [[1], [7], [5, 2], [16, 1, 9]])
def test_ox_01_the_encoder_answers_as_its_definition_at_every_batch_and_length(
    encoder: Path, lengths: list[int]
) -> None:
    ids, mask = tokens(rng(), len(lengths), max(lengths)), padded(max(lengths), lengths, "right")
    wanted = load_reference(encoder.parents[1] / "source").forward(ids, mask)
    got = run(encoder, input_ids=ids, attention_mask=mask)
    assert list(got) == ["sentence_embedding", "last_hidden_state"]
    assert np.abs(got["sentence_embedding"] - wanted["sentence_embedding"]).max() < CLOSE
    assert np.abs(got["last_hidden_state"] - wanted["last_hidden_state"])[mask == 1].max() < CLOSE * 5


def test_ox_01_batch_and_length_are_symbols_in_the_file(encoder: Path) -> None:
    onnx.checker.check_model(str(encoder), full_check=True)
    model = onnx.load(encoder)
    assert (model.ir_version, [entry.version for entry in model.opset_import]) == (8, [17])
    dims = {value.name: [dim.dim_param for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}
    assert dims == {"input_ids": ["batch", "length"], "attention_mask": ["batch", "length"]}


def test_ox_10_padding_changes_no_embedding(encoder: Path) -> None:
    ids, mask = tokens(rng(), 2, 9), padded(9, [3, 9], "right")
    together = run(encoder, input_ids=ids, attention_mask=mask)["sentence_embedding"]
    alone = run(encoder, input_ids=ids[:1, :3], attention_mask=mask[:1, :3])["sentence_embedding"]
    assert np.abs(together[0] - alone[0]).max() < CLOSE


def test_a_text_longer_than_the_table_of_positions_fails(encoder: Path) -> None:
    ids = tokens(rng(), 1, 33)
    with pytest.raises(Exception, match="embeddings/"):
        run(encoder, input_ids=ids, attention_mask=np.ones_like(ids))


def test_names_with_the_prefix_make_the_same_file(tmp_path: Path) -> None:
    for name, prefix in (("with", "bert."), ("without", "")):
        (tmp_path / name).mkdir()
        exported(tmp_path / name, tiny.bert_config(), tiny.bert_tensors(rng(), prefix), ENCODER)
    with_it, without = ((tmp_path / name / "out" / "model.onnx").read_bytes() for name in ("with", "without"))
    assert with_it == without


def test_a_classifier_answers_as_its_definition(tmp_path: Path) -> None:
    config = tiny.bert_config(id2label={"0": "calm", "1": "cross", "2": "sad"})
    path = exported(tmp_path, config, tiny.bert_tensors(rng(), "bert.", 3), ExportSettings("classifier"))
    ids, mask = tokens(rng(), 2, 6), padded(6, [6, 4], "right")
    wanted = load_reference(tmp_path / "source").forward(ids, mask)["logits"]
    assert np.abs(run(path, input_ids=ids, attention_mask=mask)["logits"] - wanted).max() < CLOSE * 5
    facts = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert json.loads(facts["labels"]) == ["calm", "cross", "sad"]


def test_token_types_are_an_input_when_asked_for(tmp_path: Path) -> None:
    settings = ExportSettings("encoder", token_types=True)
    path = exported(tmp_path, tiny.bert_config(), tiny.bert_tensors(rng()), settings)
    ids = tokens(rng(), 1, 6)
    wanted = load_reference(tmp_path / "source").forward(ids, np.ones_like(ids))["sentence_embedding"]
    zeros, ones = (
        run(path, input_ids=ids, attention_mask=np.ones_like(ids), token_type_ids=np.full_like(ids, kind))
        for kind in (0, 1)
    )
    assert np.abs(zeros["sentence_embedding"] - wanted).max() < CLOSE
    assert np.abs(ones["sentence_embedding"] - wanted).max() > 0.01


def test_the_folder_says_how_tokens_are_pooled(tmp_path: Path) -> None:
    source = tiny.write(tmp_path / "source", tiny.bert_config(), tiny.bert_tensors(rng()))
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    (source / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer"}]', encoding="utf-8")
    (tmp_path / "out").mkdir()
    path = export(source, tmp_path / "out", ENCODER).path
    ids = tokens(rng(), 2, 5)
    got = run(path, input_ids=ids, attention_mask=np.ones_like(ids))
    assert np.array_equal(got["sentence_embedding"], got["last_hidden_state"][:, 0])


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_weights_are_widened(tmp_path: Path, kind: type) -> None:
    halves: tiny.Tensors = {name: array.astype(kind) for name, array in tiny.bert_tensors(rng()).items()}
    path = exported(tmp_path, tiny.bert_config(), halves, ENCODER)
    ids = tokens(rng(), 2, 5)
    wanted = load_reference(tmp_path / "source").forward(ids, np.ones_like(ids))["sentence_embedding"]
    got = run(path, input_ids=ids, attention_mask=np.ones_like(ids))["sentence_embedding"]
    assert got.dtype == np.float32
    assert np.abs(got - wanted).max() < CLOSE


def _without(name: str) -> tiny.Tensors:
    tensors = tiny.bert_tensors(rng())
    del tensors[name]
    return tensors


def _with_nan() -> tiny.Tensors:
    tensors = tiny.bert_tensors(rng())
    tensors["encoder.layer.1.output.dense.bias"][3] = np.nan
    return tensors


EXTRA = {"encoder.layer.2.output.dense.weight": np.ones((2, 2), np.float32)}
WHOLE = {"encoder.layer.0.output.dense.bias": np.ones(16, np.int8)}


@pytest.mark.parametrize(
    ("tensors", "changes", "message"),
    [
        (_without("encoder.layer.1.output.LayerNorm.bias"), {}, r"lack encoder\.layer\.1\.output\.LayerNorm\.bias"),
        (tiny.bert_tensors(rng()) | EXTRA, {}, r"no place for encoder\.layer\.2\.output\.dense\.weight"),
        (tiny.bert_tensors(rng()), {"intermediate_size": 25}, r"intermediate\.dense\.weight must have the shape"),
        (tiny.bert_tensors(rng()) | WHOLE, {}, "must be of floats"),
        (_with_nan(), {}, r"encoder\.layer\.1\.output\.dense\.bias holds NaN"),
        (tiny.bert_tensors(rng()), {"hidden_act": "gelu_new"}, "hidden_act must be gelu"),
        (tiny.bert_tensors(rng()), {"model_type": "roberta"}, "model_type must be bert"),
        (tiny.bert_tensors(rng()), {"vocab_size": True}, "vocab_size must be a whole number"),
        (tiny.bert_tensors(rng()), {"id2label": {"a": "calm"}}, "id2label must name each label once"),
        (tiny.bert_tensors(rng()), {"position_embedding_type": "relative_key"}, "position_embedding_type"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(
    tmp_path: Path, tensors: tiny.Tensors, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        exported(tmp_path, tiny.bert_config(**changes), tensors, ENCODER)
    assert list((tmp_path / "out").iterdir()) == []


def test_the_same_source_gives_the_same_bytes_and_its_tokenizer(tmp_path: Path) -> None:
    source = tiny.write(tmp_path / "source", tiny.bert_config(), tiny.bert_tensors(rng()))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert export(source, tmp_path / name, ENCODER).files == ("model.onnx", "config.json", "tokenizer.json")
    one, two = ((tmp_path / name / "model.onnx").read_bytes() for name in ("one", "two"))
    assert one == two


def test_ox_02_large_weights_lie_beside_the_graph_and_move_with_it(tmp_path: Path) -> None:
    settings = ExportSettings("encoder", inline_limit=1000)
    path = exported(tmp_path, tiny.bert_config(), tiny.bert_tensors(rng()), settings)
    assert (path.parent / "model.onnx.data").stat().st_size > 1000
    shutil.copytree(path.parent, tmp_path / "elsewhere")
    shutil.rmtree(path.parent)
    ids = tokens(rng(), 1, 5)
    wanted = load_reference(tmp_path / "source").forward(ids, np.ones_like(ids))["sentence_embedding"]
    got = run(tmp_path / "elsewhere" / "model.onnx", input_ids=ids, attention_mask=np.ones_like(ids))
    assert np.abs(got["sentence_embedding"] - wanted).max() < CLOSE
