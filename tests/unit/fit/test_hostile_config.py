"""A config.json that somebody else wrote: each fault is one clear error, and nothing hangs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.errors import UserError
from sluiceway.fit.config import shape_of
from sluiceway.fit.count import parameters
from sluiceway.fit.families import FAMILIES
from sluiceway.fit.memory import BY_NAME, cache, weights
from sluiceway.fit.read import LONGEST, load_config
from tests.unit.fit.shapes import LLAMA, config, llama


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"hidden_size": "8"}, "config.json: hidden_size: is a whole number, got '8'"),
        ({"hidden_size": -8}, "config.json: hidden_size: is from 1 to 1,000,000, got -8"),
        ({"hidden_size": 10**30}, "config.json: hidden_size: is from 1 to 1,000,000, got 10000"),
        ({"hidden_size": 8.0}, "config.json: hidden_size: is a whole number, got 8.0"),
        ({"hidden_size": True}, "config.json: hidden_size: is a whole number, got True"),
        ({"hidden_size": [8]}, "config.json: hidden_size: is a whole number"),
        ({"vocab_size": 0}, "config.json: vocab_size: is from 1 to"),
        ({"num_hidden_layers": 10**9}, "config.json: num_hidden_layers: is from 1 to 2,000"),
        ({"num_attention_heads": 3}, "config.json: num_key_value_heads: divides num_attention_heads, 3, got 2"),
        ({"num_attention_heads": 6, "num_key_value_heads": 3}, "config.json: num_attention_heads: divides hidden_size"),
        ({"hidden_size": None}, "config.json: hidden_size is missing, and the size can't be told without it"),
        ({"model_type": None}, "config.json: model_type is missing"),
        ({"model_type": 7}, "config.json: model_type: is a text of 1 to 200 characters, got 7"),
        ({"model_type": "x" * 5_000}, "config.json: model_type: is a text of 1 to 200 characters"),
        ({"model_type": "evil\x1b[2J"}, "config.json: model_type: is a text of 1 to 200 characters"),
        ({"torch_dtype": "float7"}, "config.json: torch_dtype: is one of float32, float16, half, bfloat16"),
        ({"quantization_config": "fp8"}, "config.json: quantization_config: is an object, got 'fp8'"),
        ({"quantization_config": {"quant_method": "gptq"}}, "config.json: quantization_config.bits is missing"),
        ({"tie_word_embeddings": "no"}, "config.json: tie_word_embeddings: is true or false, got 'no'"),
        ({"architectures": "Llama"}, "config.json: architectures: is a list of at most 2,000 texts"),
        ({"layer_types": ["full_attention"]}, "config.json: layer_types: names each of the 3 layers, got '1 names'"),
        ({"layer_types": ["full_attention"] * 2 + ["linear_attention"]}, "config.json: layer_types: is full_attention"),
        ({"layer_types": ["sliding_attention"] * 3}, "config.json: sliding_window is missing"),
        ({"text_config": {}, "model_type": "kimi_k25"}, "config.json: text_config.num_hidden_layers is missing"),
    ],
)
def test_a_value_that_can_not_be_is_told_with_its_key(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as caught:
        llama(**changed)
    assert str(caught.value).startswith(told)
    assert caught.value.hint
    assert len(str(caught.value)) < 300, "a long value is cut"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"num_experts_per_tok": 999}, "num_experts_per_tok: is at most the number of experts, 384, got 999"),
        ({"kv_lora_rank": None}, "kv_lora_rank is missing"),
        ({"moe_layer_freq": 0}, "moe_layer_freq: is from 1 to"),
        ({"mlp_layer_types": ["sparse"]}, "mlp_layer_types: names each of the 61 layers"),
        ({"first_k_dense_replace": -1}, "first_k_dense_replace: is from 0 to"),
    ],
)
def test_experts_and_latents_that_can_not_be_are_told(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told.replace("(", r"\(")):
        shape_of({**config("kimi-k2"), **changed}, "k2")


def test_a_family_that_is_not_known_is_refused_rather_than_guessed() -> None:
    with pytest.raises(UserError) as caught:
        shape_of({**LLAMA, "model_type": "glm5_next"}, "config.json")
    assert str(caught.value) == (
        "config.json: model_type: neither size nor memory of a glm5_next can be told: its layers aren't known here"
    )
    assert "glm_moe_dsa" in str(caught.value.hint)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "isn't JSON: Expecting value on line 1"),
        (b"{", "isn't JSON"),
        (b"[]", "holds no JSON object"),
        (b'"text"', "holds no JSON object"),
        (b'{"hidden_size": NaN}', "holds NaN, which is no number in JSON"),
        (b'{"hidden_size": -Infinity}', "holds -Infinity, which is no number in JSON"),
        (b'{"hidden_size": ' + b"9" * 5_000 + b"}", "holds a number that is too long"),
        (b"[" * 200_000, "is nested too deep"),
        (b'{"a":' * 100_000, "is nested too deep"),
        (b"\xff\xfe{}", "isn't UTF-8 at byte 0"),
        (b" " * (LONGEST + 1), "is longer than 4,000,000 bytes"),
    ],
    ids=["empty", "open", "list", "text", "nan", "infinity", "digits", "lists", "objects", "utf-16", "long"],
)
def test_a_file_that_is_no_config_is_told_in_one_sentence(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(raw)
    with pytest.raises(UserError) as caught:
        load_config(path, "given.json")
    assert str(caught.value).startswith(f"given.json: {told}")


def test_a_file_of_a_gigabyte_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as stream:
        stream.truncate(10**9)  # sparse: it takes no room on the disk
    with pytest.raises(UserError, match="is longer than 4,000,000 bytes"):
        load_config(path, "given.json")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("pipe.json", "absent.json", "."):
        with pytest.raises(UserError, match="the file doesn't exist, or is no file"):
            load_config(tmp_path / name, name)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = sorted({*config("kimi-k2"), *config("gpt-oss-20b"), *config("glm-5.2"), *config("minilm-l6"), "text_config"})


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), st.dictionaries(st.sampled_from(KEYS), anything, max_size=4))
def test_any_config_is_counted_or_refused_by_a_user_error(family: str, changed: dict[str, Any]) -> None:
    base = {**config("glm-5.2"), **config("gpt-oss-20b"), **config("minilm-l6"), "layer_types": None}
    try:
        shape = shape_of({**base, "model_type": family, **changed}, "config.json")
    except UserError as error:
        assert error.hint
        return
    counted = parameters(shape)
    assert 0 < counted.per_step <= counted.active <= counted.total
    assert weights(counted, BY_NAME["int4"]) > 0 and cache(shape, shape.limit, 2) >= 0


def test_a_good_config_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), "utf-8")
    assert load_config(path, "x") == LLAMA
