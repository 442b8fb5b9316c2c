"""How fast: figures worked out by hand, and what can never be faster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.fit.cards import Card, Layout, Load, Plan
from sluiceway.fit.count import parameters
from sluiceway.fit.memory import BY_NAME, cache, weights
from sluiceway.fit.shape import Shape
from sluiceway.fit.speed import Speed, experts_read, speed
from tests.unit.fit.shapes import shipped

BF16, FP8 = BY_NAME["bf16"], BY_NAME["fp8"]
H100 = Card("h100", 80 * 10**9, 3.35e12, 989e12, 1979e12)
ONE = Load(8192, 1)


def on(shape: Shape, layout: Layout, load: Load = ONE, card: Card = H100, prompt: int = 1024) -> Speed:
    found = speed(shape, Plan(card, BF16, layout, 0, 0), load, prompt)
    assert found is not None
    return found


def test_a_token_of_a_dense_model_takes_the_time_to_read_it_once() -> None:
    shape = shipped("llama-3.1-8b")
    found = on(shape, Layout()).token
    assert found is not None
    read = 2 * parameters(shape).per_step + cache(shape, 8192, 2)
    assert found.quick == pytest.approx(read / (3.35e12 * 0.8) + 32 * 10e-6)
    assert found.slow == pytest.approx(read / (3.35e12 * 0.5) + 32 * 40e-6)
    assert 80 < 1 / found.slow < 1 / found.quick < 200, "tokens a second, as engines reach on that card"


def test_a_prompt_takes_the_time_of_its_arithmetic() -> None:
    shape = shipped("llama-3.1-8b")
    counted = parameters(shape)
    work = 2 * (counted.per_step - counted.head) * 1024 + 2 * 32 * 2 * 128 * 32 * 1024 * 1024 / 2
    found = on(shape, Layout())
    assert found.first.quick == pytest.approx(work / (989e12 * 0.6) + 32 * 10e-6)
    assert found.first.slow == pytest.approx(work / (989e12 * 0.3) + 32 * 40e-6)


def test_a_tied_head_is_read_for_a_token_but_not_worked_through_for_a_prompt() -> None:
    shape = shipped("smollm2-135m")
    loose = replace(shape, tied=False)
    assert on(shape, Layout()).token == on(loose, Layout()).token
    assert on(shape, Layout()).first == on(loose, Layout()).first


def test_a_batch_reads_more_experts_but_never_all_of_them_twice() -> None:
    shape = shipped("kimi-k2")
    assert experts_read(shape, 1) == pytest.approx(8 / 384)
    assert experts_read(shape, 2) == pytest.approx(1 - (376 / 384) ** 2)
    assert experts_read(shape, 10_000) == pytest.approx(1.0)
    assert experts_read(shipped("llama-3.1-8b"), 5) == 0.0


def test_one_token_of_a_mixture_reads_its_active_experts_alone() -> None:
    shape = shipped("kimi-k2")
    found = on(shape, Layout(8)).token
    assert found is not None
    read = 2 * parameters(shape).per_step / 8 + cache(shape, 8192, 2) / 8
    assert found.quick == pytest.approx(read / (3.35e12 * 0.8) + 61 * 20e-6, rel=1e-6)


def test_expert_parallel_cards_read_all_but_the_experts_each() -> None:
    shape, load = shipped("kimi-k2"), Load(8192, 16)
    found = on(shape, Layout(expert=16), load).token
    assert found is not None
    counted = parameters(shape)
    routed = weights(counted, BF16, rest=False) * experts_read(shape, 16) / 16
    rest = weights(counted, BF16, experts=False) - 2 * counted.embedding
    read = rest + routed + cache(shape, 8192, 2)
    assert found.quick == pytest.approx(read / (3.35e12 * 0.8) + 61 * 20e-6, rel=1e-6)


def test_a_prompt_on_expert_parallel_cards_has_one_of_them_for_all_but_its_experts() -> None:
    shape = shipped("kimi-k2")
    alone, many, tensor = (on(shape, layout) for layout in (Layout(), Layout(expert=16), Layout(16)))
    counted = parameters(shape)
    routed = 2 * counted.experts_active * 1024 / (989e12 * 0.3)
    started = 61 * (150e-6 - 40e-6)
    assert many.first.slow == pytest.approx(alone.first.slow + started - routed * 15 / 16)
    assert many.first.slow > tensor.first.slow, "cards that share a layer help one prompt more"
    assert many.read.slow < tensor.read.slow, "but start each layer once for 16 prompts"


def test_more_cards_of_a_layer_are_faster_and_stages_are_not() -> None:
    shape = shipped("kimi-k2")
    four, eight, two_stages = (on(shape, layout) for layout in (Layout(4), Layout(8), Layout(4, 2)))
    assert four.token and eight.token and two_stages.token
    assert eight.token.slow < four.token.slow
    assert eight.first.slow < four.first.slow == two_stages.first.slow
    assert two_stages.seconds_a_token(True)[0] == pytest.approx(four.seconds_a_token(True)[0] / 2), (
        "two prompts at once"
    )


def test_cards_on_a_bus_exchange_more_slowly() -> None:
    shape = shipped("llama-3.1-8b")
    linked, bus = (on(shape, Layout(2), card=replace(H100, linked=linked)).token for linked in (True, False))
    assert linked and bus and linked.quick < bus.quick and linked.slow < bus.slow
    assert on(shape, Layout(), card=replace(H100, linked=False)).token == on(shape, Layout()).token


def test_fp8_counts_double_where_the_card_computes_it() -> None:
    assert H100.flops("fp8") == 1979e12
    assert H100.flops("int4") == H100.flops("bf16") == 989e12
    assert replace(H100, fp8=None).flops("fp8") == 989e12


def test_an_encoder_reads_and_writes_nothing() -> None:
    found = on(shipped("minilm-l6"), Layout(), Load(512, 1), prompt=512)
    assert found.token is None
    read, written = found.seconds_a_token(False)
    assert written == 0.0
    assert read == pytest.approx(found.first.slow / 512)


def test_what_no_card_holds_has_no_speed() -> None:
    assert speed(shipped("kimi-k2"), Plan(H100, FP8, None, 1, 1), ONE, 1) is None


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(("kimi-k2", "glm-5.2", "gpt-oss-20b", "llama-3.1-8b")), st.integers(1, 100_000), st.integers(1, 64)
)
def test_the_quick_estimate_is_never_the_slow_one_and_longer_is_never_faster(
    name: str, context: int, many: int
) -> None:
    shape = shipped(name)
    found = on(shape, Layout(8), Load(context, many), prompt=context)
    longer = on(shape, Layout(8), Load(context + 1000, many + 1), prompt=context + 1000)
    assert found.token and longer.token
    assert 0 < found.token.quick < found.token.slow and 0 < found.first.quick < found.first.slow
    assert found.token.quick <= longer.token.quick and found.first.slow <= longer.first.slow
