"""Which tier a model fits: decisions at the limits, and what was measured of the edge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluiceway.fit.cards import Load
from sluiceway.fit.count import parameters
from sluiceway.fit.memory import BY_NAME, cache, weights
from sluiceway.fit.shape import Shape
from sluiceway.fit.tiers import ISOLATE, Tier, edge, edge_need, lora_base, workers_ai
from tests.unit.fit.shapes import llama, shipped


def on_edge(shape: Shape, context: int = 512) -> Tier:
    return edge(shape, parameters(shape), Load(context, 1))


# Heap and loading copy as they were measured in wasm, and 10 MB for the rest of the Worker.
@pytest.mark.parametrize(("size", "measured"), [(0.2e6, 17e6), (23.4e6, (82 + 23) * 1e6), (12.8e6, (46 + 12.8) * 1e6)])
def test_the_need_of_an_isolate_is_near_what_was_measured(size: float, measured: float) -> None:
    found = edge_need(int(size), 0)
    assert measured <= found
    assert found == pytest.approx(measured + 10e6, rel=0.12)


def test_minilm_fits_the_isolate_in_8_bits_and_smollm2_does_not() -> None:
    mini, smol = on_edge(shipped("minilm-l6")), on_edge(shipped("smollm2-135m"))
    assert mini.fits and mini.short is None and mini.detail.startswith("int8 needs 115 MB of 128 MB")
    assert not smol.fits
    size = weights(parameters(shipped("smollm2-135m")), BY_NAME["int4"])
    assert smol.short == edge_need(size, cache(shipped("smollm2-135m"), 512, 2)) - ISOLATE


def test_the_edge_is_decided_at_its_limit_to_the_byte() -> None:
    shape = shipped("minilm-l6")
    # Rows of the table of tokens, 384 elements each, until the smaller format is just over the limit.
    least, most = 30_522, 10**6
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if on_edge(replace(shape, vocab=middle)).fits else (least, middle)
    last = on_edge(replace(shape, vocab=least))
    first = on_edge(replace(shape, vocab=most))
    assert last.fits and last.detail.startswith("int4 needs 128 MB")
    assert first.short is not None and 0 < first.short < 4 * 384 * 2


def test_a_cache_counts_on_the_edge_as_far_as_the_context_goes() -> None:
    small = llama()
    assert on_edge(small, 512).fits
    huge = llama(num_key_value_heads=4, head_dim=4096, max_position_embeddings=512)
    assert not on_edge(huge, 512).fits
    assert on_edge(huge, 100_000) == on_edge(huge, 512), "never more than the model's own context"


def test_experts_do_not_run_on_the_edge_however_small_they_are() -> None:
    tiny = llama(model_type="mixtral", num_local_experts=2, num_experts_per_tok=1)
    found = on_edge(tiny)
    assert (found.fits, found.short) == (False, None)
    assert "experts have no operator in the wasm runtime" in found.detail


def test_the_catalogue_of_workers_ai_is_a_tier() -> None:
    kimi = shipped("kimi-k2.6")
    assert workers_ai(kimi, ("@cf/moonshotai/kimi-k2.6",)) == Tier("Workers AI", True, "@cf/moonshotai/kimi-k2.6")
    assert not workers_ai(kimi, ()).fits
    assert not workers_ai(kimi, ("@cf/moonshotai/kimi-k2.5",)).fits, "it is retired"


def test_a_window_of_workers_ai_that_is_too_short_does_not_fit() -> None:
    flash, ids = shipped("glm-4.7-flash"), ("@cf/zai-org/glm-4.7-flash",)
    assert workers_ai(flash, ids, 131_072).fits
    found = workers_ai(flash, ids, 131_073)
    assert (found.fits, found.detail) == (False, f"{ids[0]} has a window of 131,072 tokens there")
    two = ("@cf/zai-org/glm-5.2", "@cf/zai-org/glm-5.3")
    assert workers_ai(shipped("glm-5.2"), two, 262_145).detail == "@cf/zai-org/glm-5.3"
    assert workers_ai(flash, ("@cf/zai-org/glm-5.3-flash",), 10**6).fits, "no window is published of it"


MISTRAL = {
    "model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
}  # fmt: skip


def test_a_model_of_the_shape_of_a_base_goes_there_as_an_adapter() -> None:
    mistral = llama(**MISTRAL)
    assert lora_base(mistral) == "@cf/mistral/mistral-7b-instruct-v0.2-lora"
    found = workers_ai(mistral, ())
    assert found.fits
    assert found.detail == "as a LoRA adapter on @cf/mistral/mistral-7b-instruct-v0.2-lora: rank 32 and 300 MB at most"
    for changed in (
        {"vocab_size": 32_768},
        {"num_hidden_layers": 31},
        {"hidden_size": 2048},
        {"num_key_value_heads": 4},
    ):
        assert lora_base(llama(**{**MISTRAL, **changed})) is None, changed
    assert lora_base(shipped("llama-3.1-8b")) is None
    assert lora_base(shipped("kimi-k2")) is None
