"""Bytes of weights and of caches, against figures worked out by hand."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.fit.config import shape_of
from sluiceway.fit.count import parameters
from sluiceway.fit.memory import BY_NAME, FORMATS, as_published, cache, cache_read, nearest, weights
from sluiceway.fit.shape import Precision
from tests.unit.fit.shapes import LLAMA, config, llama, shipped

NAMES = ("kimi-k2", "glm-4.6", "glm-5", "glm-5.2", "gpt-oss-20b", "llama-3.1-8b", "minilm-l6", "qwen3-30b-a3b")
K = 1024


@pytest.mark.parametrize(
    ("name", "context", "bytes_"),
    [
        ("llama-3.1-8b", 8 * K, 2 * 8 * 128 * 32 * 2 * 8 * K),  # GQA, 128 KiB a token
        ("llama-3.1-8b", 128 * K, 17_179_869_184),  # 16 GiB
        ("kimi-k2", 8 * K, (512 + 64) * 61 * 2 * 8 * K),  # MLA: the latent and the rotated key, once for all heads
        ("kimi-k2", 128 * K, 9_210_691_584),
        ("glm-4.6", 16 * K, 2 * 8 * 128 * 92 * 2 * 16 * K),
        ("glm-5", 8 * K, ((512 + 64) * 78 + 128 * 78) * 2 * 8 * K),  # MLA and the indexer's keys
        ("glm-5.2", 8 * K, ((512 + 64) * 78 + 128 * 21) * 2 * 8 * K),  # 21 layers have an indexer
        ("gpt-oss-20b", 8 * K, 2 * 8 * 64 * 2 * (12 * 128 + 12 * 8 * K)),  # every other layer looks back on 128
        ("minilm-l6", 512, 0),
    ],
)
def test_the_cache_of_a_sequence_is_what_its_layers_keep(name: str, context: int, bytes_: int) -> None:
    assert cache(shipped(name), context, 2) == bytes_
    assert cache(shipped(name), context, 1) * 2 == bytes_


def test_attention_with_a_key_for_each_head_keeps_them_all() -> None:
    many = llama(num_key_value_heads=4)
    assert many.attention.name == "MHA"
    assert cache(many, 10, 2) == 2 * 4 * 2 * 3 * 10 * 2
    assert llama(num_key_value_heads=1).attention.name == "MQA"
    assert llama(num_key_value_heads=None).attention == many.attention


@pytest.mark.parametrize(
    ("changed", "windows"),
    [
        ({"model_type": "mistral", "sliding_window": 5}, (5, 5, 5)),
        ({"model_type": "mistral", "sliding_window": None}, (None, None, None)),
        ({"model_type": "llama", "sliding_window": 5}, (None, None, None)),
        ({"model_type": "qwen2", "sliding_window": 5, "use_sliding_window": False}, (None, None, None)),
        (
            {"model_type": "qwen2", "sliding_window": 5, "use_sliding_window": True, "max_window_layers": 2},
            (None, None, 5),
        ),
        ({"model_type": "gemma2", "sliding_window": 5}, (5, None, 5)),
        ({"model_type": "gemma3_text", "sliding_window": 5, "sliding_window_pattern": 3}, (5, 5, None)),
        (
            {"sliding_window": 5, "layer_types": ["full_attention", "sliding_attention", "full_attention"]},
            (None, 5, None),
        ),
    ],
)
def test_a_sliding_window_bounds_the_layers_that_it_is_for(
    changed: dict[str, object], windows: tuple[int | None, ...]
) -> None:
    shape = llama(**changed)
    assert shape.windows == windows
    assert cache(shape, 9, 2) == sum(2 * 2 * 2 * (window or 9) * 2 for window in windows)


def test_sparse_attention_reads_what_its_indexer_picks_and_no_more() -> None:
    shape = shipped("glm-5.2")
    assert cache_read(shape, 1_000, 2) == cache(shape, 1_000, 2)
    assert cache_read(shape, 100_000, 2) == ((512 + 64) * 78 * 2_048 + 128 * 21 * 100_000) * 2
    assert cache_read(shipped("kimi-k2"), 100_000, 2) == cache(shipped("kimi-k2"), 100_000, 2)


def test_each_format_counts_its_scales() -> None:
    counted = parameters(llama())
    matrices, tables, small = 576 + 864, 1600, 56
    assert counted.total == matrices + tables + small
    assert weights(counted, BY_NAME["fp32"]) == 4 * counted.total
    assert weights(counted, BY_NAME["bf16"]) == 2 * counted.total
    assert weights(counted, BY_NAME["int8"]) == ceil((matrices + tables) * 65 / 64) + 2 * small  # 16 bits for 128
    assert weights(counted, BY_NAME["int4"]) == matrices * 4.5 / 8 + tables * 65 / 64 + 2 * small


def test_fp8_in_blocks_leaves_the_tables_in_16_bits() -> None:
    counted = parameters(shipped("llama-3.1-8b"))
    tables = counted.embedding + counted.head
    expected = (counted.total - tables) * (1 + 4 / 16_384) + 2 * tables
    assert weights(counted, BY_NAME["fp8"]) == pytest.approx(expected, rel=1e-4)


# Sizes of the published files: 13.8 GB of gpt-oss, about 595 GB of Kimi-K2.6, 1.03 TB of Kimi-K2; MiniLM and SmolLM2
# as they were measured.
@pytest.mark.parametrize(
    ("name", "published", "within"),
    [
        ("gpt-oss-20b", 13.76e9, 0.005),
        ("kimi-k2.6", 595e9, 0.005),
        ("kimi-k2", 1.03e12, 0.005),
        ("llama-3.1-8b", 16.06e9, 0.001),
        ("minilm-l6", 90.9e6, 0.002),
    ],
)
def test_the_size_as_published_is_that_of_the_files(name: str, published: float, within: float) -> None:
    shape = shipped(name)
    assert as_published(parameters(shape), shape.precision) == pytest.approx(published, rel=within)


def test_int8_of_minilm_is_as_large_as_it_was_measured() -> None:
    assert weights(parameters(shipped("minilm-l6")), BY_NAME["int8"]) == pytest.approx(23.4e6, rel=0.02)


@pytest.mark.parametrize(
    ("stated", "bits", "format"),
    [
        (None, None, "bf16"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 16_384, "fp8"),
        ({"quant_method": "fp8"}, 8, "fp8"),
        ({"quant_method": "mxfp4"}, 4.25, "int4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128, "int4"),
        ({"quant_method": "awq", "bits": 8, "group_size": -1}, 8, "fp8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5, "int4"),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8}}}}, 8, "fp8"),
        ({"quant_method": "compressed-tensors"}, None, "bf16"),
        ({"quant_method": "brand-new"}, None, "bf16"),
    ],
)
def test_the_precision_is_read_from_the_config(stated: object, bits: float | None, format: str) -> None:
    shape = llama(quantization_config=stated)
    assert (shape.precision.bits, nearest(shape.precision)) == (bits, format)
    size = as_published(parameters(shape), shape.precision)
    assert (size is None) == (stated is not None and bits is None), "a method that isn't known has no size"


def test_parts_that_are_left_out_of_the_quantisation_keep_their_16_bits() -> None:
    assert shipped("kimi-k2.6").precision.kept == {"attention", "mlp", "shared_experts"}
    assert shipped("gpt-oss-20b").precision.kept >= {"attention", "shared_experts"}
    counted = parameters(llama())
    most = as_published(counted, Precision("bfloat16", "fp8", 8.0, frozenset({"mlp"})))
    assert most == counted.total * 2 - counted.attention


def test_dtype_under_its_newer_name_is_read_too() -> None:
    assert shape_of({**LLAMA, "torch_dtype": None, "dtype": "float32"}, "x").precision.dtype == "float32"
    assert shape_of({**config("minilm-l6"), "torch_dtype": None}, "x").precision.dtype == "bfloat16"


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.integers(1, 200_000), st.integers(1, 200_000))
def test_more_context_never_needs_less_memory(name: str, one: int, other: int) -> None:
    shape = shipped(name)
    low, high = sorted((one, other))
    assert cache(shape, low, 2) <= cache(shape, high, 2)
    assert cache_read(shape, low, 2) <= cache_read(shape, high, 2)
    assert cache_read(shape, high, 2) <= cache(shape, high, 2)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES))
def test_fewer_bits_never_need_more_memory(name: str) -> None:
    counted = parameters(shipped(name))
    sizes = [weights(counted, BY_NAME[each]) for each in ("fp32", "bf16", "fp8", "int4")]
    assert sizes == sorted(sizes, reverse=True)
    for format in FORMATS:
        parts = weights(counted, format, experts=False) + weights(counted, format, rest=False)
        assert abs(parts - weights(counted, format)) <= 1
