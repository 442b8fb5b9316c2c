"""The Llama decoder without torch, against the float64 forward: with a cache and without, with padding and without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from sluiceway.errors import UserError
from sluiceway.pipeline.graphs.export import ExportSettings
from sluiceway.pipeline.validate.reference import load_reference
from tests.unit.pipeline.graphs import tiny
from tests.unit.pipeline.graphs.sessions import Ints, exported, padded, run, tokens

CACHE, PLAIN = ExportSettings("causal-lm"), ExportSettings("causal-lm", cache=False)
CLOSE = 2e-5
Floats = NDArray[np.float32]


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def decoder(tmp_path: Path, settings: ExportSettings, **changes: object) -> Path:
    return exported(tmp_path, tiny.llama_config(**changes), tiny.llama_tensors(rng()), settings)


def places(mask: Ints) -> Ints:
    return np.asarray(np.maximum(mask.cumsum(axis=1) - 1, 0))


def step(path: Path, ids: Ints, mask: Ints, past: dict[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """Logits [batch, new, vocabulary] and the cache after them. ``mask`` covers the past and what is new."""
    empty = np.zeros((len(ids), 2, 0, 4), np.float32)
    names = [f"{layer}.{kind}" for layer in range(2) for kind in ("key", "value")]
    cache: dict[str, NDArray[np.generic]] = {f"past_key_values.{name}": past.get(name, empty) for name in names}
    where = places(mask)[:, -ids.shape[1] :]
    got = run(path, input_ids=ids, attention_mask=mask, position_ids=where, **cache)
    return got["logits"], {name: got[f"present.{name}"] for name in names}


def plain(path: Path, ids: Ints, mask: Ints) -> Floats:
    return run(path, input_ids=ids, attention_mask=mask, position_ids=places(mask))["logits"]


@pytest.mark.parametrize("lengths", [[1], [7], [2, 5], [3, 16, 9]])
def test_ox_01_the_decoder_answers_as_its_definition_at_every_batch_and_length(
    tmp_path: Path, lengths: list[int]
) -> None:
    path = decoder(tmp_path, PLAIN)
    ids, mask = tokens(rng(), len(lengths), max(lengths)), padded(max(lengths), lengths, "left")
    wanted = load_reference(tmp_path / "source").forward(ids, mask)["logits"]
    got = plain(path, ids, mask)
    assert np.isfinite(got).all()
    assert np.abs(got - wanted)[mask == 1].max() < CLOSE


@pytest.mark.parametrize(
    ("batch", "new", "past"), [(1, 1, 7), (2, 5, 3), (3, 17, 1), (1, 64, 0), (4, 1, 31), (1, 1, 0)]
)
def test_the_cache_gives_what_the_whole_text_gives(tmp_path: Path, batch: int, new: int, past: int) -> None:
    path = decoder(tmp_path, CACHE)
    ids = tokens(rng(), batch, past + new)
    mask = padded(past + new, [past + new - (row % 2 if past else 0) for row in range(batch)], "left")
    wanted = load_reference(tmp_path / "source").forward(ids, mask)["logits"]
    cache = step(path, ids[:, :past], mask[:, :past], {})[1] if past else {}
    got, cache = step(path, ids[:, past:], mask, cache)
    seen = mask[:, past:] == 1
    assert np.abs(got - wanted[:, past:])[seen].max() < CLOSE
    assert cache["1.value"].shape == (batch, 2, past + new, 4)


def greedy(path: Path, ids: Ints, mask: Ints, cached: bool) -> Ints:
    """Eight tokens a row."""
    past: dict[str, Floats] = {}
    new = ids
    for _ in range(8):
        if cached:
            logits, past = step(path, new, mask, past)
        else:
            logits = plain(path, ids, mask)
        new = logits[:, -1].argmax(axis=-1)[:, None]
        ids, mask = np.concatenate([ids, new], axis=1), np.concatenate([mask, np.ones_like(new)], axis=1)
    return ids[:, -8:]


@pytest.mark.parametrize("cached", [True, False])
def test_ox_10_a_batch_of_unequal_prompts_goes_on_as_each_does_alone(tmp_path: Path, cached: bool) -> None:
    path = decoder(tmp_path, CACHE if cached else PLAIN)
    ids, mask = tokens(rng(), 2, 9), padded(9, [3, 9], "left")
    together = greedy(path, ids, mask, cached)
    short = greedy(path, ids[:1, 6:], mask[:1, 6:], cached)
    long = greedy(path, ids[1:], mask[1:], cached)
    assert together.tolist() == [short[0].tolist(), long[0].tolist()]


def test_names_and_dims_of_the_cache_are_symbols(tmp_path: Path) -> None:
    path = decoder(tmp_path, CACHE)
    onnx.checker.check_model(str(path), full_check=True)
    graph = onnx.load(path).graph
    dims = {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    }
    assert dims["past_key_values.1.key"] == ["batch", 2, "past", 4]
    assert dims["present.1.value"] == ["batch", 2, "total", 4]
    assert dims["attention_mask"] == ["batch", "total"]
    assert dims["logits"] == ["batch", "length", len(tiny.WORDS)]
    assert sum(1 for weight in graph.initializer if weight.name == "model.embed_tokens.weight") == 1


@pytest.mark.parametrize(("opset", "ir_version"), [(17, 8), (18, 8), (21, 10), (28, 14)])
def test_a_head_of_its_own_and_biases_are_drawn_at_every_opset(tmp_path: Path, opset: int, ir_version: int) -> None:
    config = tiny.llama_config(tie_word_embeddings=False, attention_bias=True)
    tensors = tiny.llama_tensors(rng(), tied=False, bias=True)
    settings = ExportSettings("causal-lm", opset=opset, ir_version=ir_version, cache=False)
    path = exported(tmp_path, config, tensors, settings)
    onnx.checker.check_model(str(path), full_check=True)
    ids = tokens(rng(), 2, 6)
    wanted = load_reference(tmp_path / "source").forward(ids, np.ones_like(ids))["logits"]
    assert np.abs(plain(path, ids, np.ones_like(ids)) - wanted).max() < CLOSE


def test_the_rotary_base_is_read_under_its_old_name_and_its_new_one(tmp_path: Path) -> None:
    ids = tokens(rng(), 1, 12)
    answers = []
    for name, keys in (
        ("old", {"rope_theta": 100000.0}),
        ("new", {"rope_theta": None, "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"}}),
        ("other", {"rope_theta": 10000.0}),
    ):
        (tmp_path / name).mkdir()
        answers.append(plain(decoder(tmp_path / name, PLAIN, **keys), ids, np.ones_like(ids)))
    assert np.array_equal(answers[0], answers[1])
    assert np.abs(answers[0] - answers[2]).max() > 1e-3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}}, "rope_theta and rope_parameters differ"),
        ({"rope_theta": None}, "base of the rotary embedding is missing"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "a scaled rotary embedding"),
        ({"model_type": "mixtral"}, "model_type must be llama"),
        ({"tie_word_embeddings": False}, r"lack lm_head\.weight"),
        ({"num_key_value_heads": 4}, "don't divide"),
        ({"num_hidden_layers": 1}, r"no place for model\.layers\.1"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        decoder(tmp_path, PLAIN, **changes)
