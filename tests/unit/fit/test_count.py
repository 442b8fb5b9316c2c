"""Parameters by part: small models counted by hand, large ones held to what their makers publish."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.fit.config import shape_of
from sluiceway.fit.count import Parameters, parameters
from sluiceway.settings import yaml_file
from tests.unit.fit.shapes import FIT, LLAMA, config, llama, shipped


def counted(name: str) -> Parameters:
    return parameters(shipped(name))


def test_every_part_of_a_dense_model_is_counted() -> None:
    found = parameters(llama())
    assert (found.embedding, found.head) == (800, 800)
    assert found.attention == 3 * (8 * 8 + 2 * 8 * 4 + 8 * 8)  # q; k and v of two heads of 2; o
    assert found.mlp == 3 * (3 * 8 * 12)
    assert found.norms == (2 * 3 + 1) * 8
    assert found.total == found.active == 800 + 576 + 864 + 56 + 800
    assert found.per_step == found.total - 800, "one row of the table of tokens is read, not all"


def test_a_tied_head_is_counted_once_and_read_for_each_token() -> None:
    found = parameters(llama(tie_word_embeddings=True))
    assert (found.embedding, found.head, found.tied) == (800, 0, True)
    assert found.per_step == found.total == parameters(llama()).total - 800


def test_biases_are_counted_where_the_config_asks_for_them() -> None:
    plain, biased = parameters(llama()), parameters(llama(attention_bias=True, mlp_bias=True))
    assert biased.attention - plain.attention == 3 * (8 + 2 * 4 + 8)
    assert biased.mlp - plain.mlp == 3 * (2 * 12 + 8)


def test_experts_are_counted_in_all_and_for_one_token() -> None:
    tiny = {
        **LLAMA, "model_type": "qwen3_moe", "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 5,
        "mlp_only_layers": [1], "head_dim": 4,
    }  # fmt: skip
    found = parameters(shape_of(tiny, "config.json"))
    assert found.experts == 2 * 6 * (3 * 8 * 5)
    assert found.experts_active == 2 * 2 * (3 * 8 * 5)
    assert found.router == 2 * 6 * 8
    assert found.mlp == 1 * (3 * 8 * 12)
    assert found.attention == 3 * (8 * 16 + 2 * 8 * 8 + 16 * 8 + 2 * 4)
    assert found.total - found.active == found.experts - found.experts_active


def test_latent_attention_is_counted_by_its_ranks() -> None:
    tiny = {
        **LLAMA, "model_type": "deepseek_v3", "q_lora_rank": 6, "kv_lora_rank": 5, "qk_nope_head_dim": 3,
        "qk_rope_head_dim": 2, "v_head_dim": 4,
    }  # fmt: skip
    found = parameters(shape_of(tiny, "config.json"))
    down = 8 * 6 + 6 + 8 * (5 + 2) + 5
    up = 6 * 4 * (3 + 2) + 5 * 4 * (3 + 4)
    assert found.attention == 3 * (down + up + 4 * 4 * 8)
    assert found.experts == 0, "without n_routed_experts every layer is dense"
    no_query = parameters(shape_of({**tiny, "q_lora_rank": None}, "config.json"))
    assert no_query.attention == 3 * (8 * 4 * 5 + 8 * 7 + 5 + 5 * 4 * 7 + 4 * 4 * 8)


# The exact sums of the published files, where those are known.
@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("llama-3.1-8b", 8_030_261_248),
        ("smollm2-135m", 134_515_008),
        ("minilm-l6", 22_713_216),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("gpt-oss-20b", 20_914_757_184),
        ("deepseek-v3", 671_026_419_200),
        ("kimi-k2", 1_026_408_232_448),
    ],
)
def test_the_count_is_that_of_the_published_weights(name: str, total: int) -> None:
    assert abs(counted(name).total - total) <= total * 1e-5


# What each maker counts: Z.ai adds the prediction layer and leaves out the tables in GLM-4.5, and Kimi's report says
# 1.04T of weights that hold 1.026T.
@pytest.mark.parametrize(
    ("name", "published", "found", "within"),
    [
        ("kimi-k2", 1.04e12, lambda it: it.total, 0.014),
        ("kimi-k2", 32.6e9, lambda it: it.active, 0.01),
        ("kimi-k2", 32e9, lambda it: it.per_step, 0.01),
        ("deepseek-v3", 671e9, lambda it: it.total, 0.001),
        ("deepseek-v3", 37e9, lambda it: it.per_step, 0.5 / 37),  # published in whole billions
        ("glm-4.5", 355e9, lambda it: it.total + it.mtp - it.embedding - it.head, 0.002),
        ("glm-4.5", 32e9, lambda it: it.active - it.embedding - it.head, 0.01),
        ("glm-4.5-air", 106e9, lambda it: it.total, 0.01),
        ("glm-4.5-air", 12e9, lambda it: it.active - it.embedding - it.head, 0.02),
        ("glm-5", 744e9, lambda it: it.total, 0.001),
        ("glm-5", 40e9, lambda it: it.active - it.embedding - it.head, 0.01),
        ("glm-5.2", 744e9, lambda it: it.total, 0.001),
        ("glm-4.7-flash", 30e9, lambda it: it.total, 0.01),
        ("llama-3.1-8b", 8.03e9, lambda it: it.total, 0.001),
        ("qwen3-30b-a3b", 30.5e9, lambda it: it.total, 0.002),
        ("qwen3-30b-a3b", 3.3e9, lambda it: it.active, 0.02),
        ("gpt-oss-20b", 20.9e9, lambda it: it.total, 0.001),
        ("gpt-oss-20b", 3.6e9, lambda it: it.per_step, 0.003),
        ("smollm2-135m", 134.5e6, lambda it: it.total, 0.001),
        ("minilm-l6", 22.7e6, lambda it: it.total, 0.001),
        ("bge-m3", 568e6, lambda it: it.total, 0.001),
    ],
)
def test_the_count_is_what_the_makers_publish(
    name: str, published: float, found: Callable[[Parameters], int], within: float
) -> None:
    assert found(counted(name)) == pytest.approx(published, rel=within)


def test_every_shipped_config_is_near_what_its_entry_says() -> None:
    entries = yaml_file.read(FIT / "models.yaml", "models.yaml")
    assert isinstance(entries, dict)
    assert {entry["config"] for entry in entries.values()} == {path.name for path in FIT.glob("*.json")}
    for name, entry in entries.items():
        assert counted(name).total / 1e9 == pytest.approx(entry["published"]["total"], rel=0.03), name


def test_glm_5_2_has_an_indexer_in_21_of_its_layers() -> None:
    indexer = shipped("glm-5.2").indexer
    assert indexer is not None and indexer.layers == 21
    types = ["full" if at < 3 or (at - 2) % 4 == 0 else "shared" for at in range(78)]
    listed = shape_of({**config("glm-5.2"), "indexer_types": types}, "x").indexer
    assert listed == indexer


def test_a_text_part_inherits_what_stands_outside_it() -> None:
    shape = shipped("kimi-k2.6")
    assert (shape.model_type, shape.tied, shape.precision.method) == ("kimi_k2", False, "compressed-tensors")
    assert "vision_config" in shape.notes[0]
    assert counted("kimi-k2.6").total == counted("kimi-k2").total


sizes = st.integers(1, 64)


@settings(max_examples=40, deadline=None)
@given(sizes, sizes, st.integers(1, 8), st.integers(1, 4), st.integers(1, 6))
def test_no_part_is_negative_and_more_of_anything_is_more(h: int, mlp: int, kv: int, group: int, layers: int) -> None:
    def make(**more: object) -> int:
        base = {"hidden_size": h, "intermediate_size": mlp, "num_hidden_layers": layers, "head_dim": 2}
        heads = {"num_attention_heads": kv * group, "num_key_value_heads": kv}
        return parameters(llama(**{**base, **heads, **more})).total

    least = make()
    assert least > 0
    assert make(hidden_size=h + 1) > least
    assert make(intermediate_size=mlp + 1) > least
    assert make(num_hidden_layers=layers + 1) > least
    assert make(vocab_size=101) > least


def test_the_shipped_files_are_plain_json_objects() -> None:
    for path in FIT.glob("*.json"):
        assert isinstance(json.loads(path.read_text("utf-8")), dict), path
