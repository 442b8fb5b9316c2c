"""How many cards: decisions at the limits, the ways to spread a model, and what they can never do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.fit.cards import COUNTS, WORKING, Card, Layout, Load, layouts, most_sequences, need, plan
from sluiceway.fit.count import parameters
from sluiceway.fit.memory import BY_NAME, cache, weights
from sluiceway.fit.shape import Shape
from tests.unit.fit.shapes import shipped

BF16, FP8 = BY_NAME["bf16"], BY_NAME["fp8"]
ONE = Load(context=8192, sequences=1)


def card(memory: int, *, linked: bool = True) -> Card:
    """One with so many bytes of room in it."""
    return replace(Card("test", 0, 1e12, 1e14, linked=linked), memory=-(-memory * 10 // 9))


H200 = Card("h200", 141 * 10**9, 4.8e12, 989e12, 1979e12)


def alone(shape: Shape, load: Load = ONE) -> int:
    return need(shape, parameters(shape), BF16, load, Layout())


def test_one_card_needs_weights_caches_and_room_to_work() -> None:
    shape = shipped("llama-3.1-8b")
    kept = cache(shape, 8192, 2)
    assert alone(shape) == weights(parameters(shape), BF16) + kept + WORKING
    assert alone(shape, replace(ONE, sequences=5)) == alone(shape) + 4 * kept
    assert alone(shape, replace(ONE, cache="fp8")) == alone(shape) - kept // 2


def test_a_card_that_has_just_enough_room_is_enough_and_a_byte_less_is_not() -> None:
    shape = shipped("llama-3.1-8b")
    exact = card(alone(shape))
    assert exact.room == alone(shape)
    found = plan(shape, exact, BF16, ONE)
    assert (found.cards, found.short) == (1, 0)
    small = card(alone(shape) - 1)
    lacking = plan(shape, small, BF16, ONE)
    assert (lacking.cards, lacking.short) == (2, alone(shape) - small.room)


def test_grouped_keys_are_split_over_as_many_cards_as_there_are_of_them() -> None:
    shape = shipped("qwen3-30b-a3b")  # 4 key heads
    counted, kept = parameters(shape), cache(shape, 8192, 2)
    for tensor, parts in ((2, 2), (4, 4), (8, 4)):
        expected = -(-weights(counted, BF16) // tensor) + -(-kept // parts) + WORKING
        assert need(shape, counted, BF16, ONE, Layout(tensor)) == expected


def test_a_latent_is_whole_on_every_card_of_a_layer_and_split_by_stages_alone() -> None:
    shape = shipped("kimi-k2")
    counted, kept = parameters(shape), cache(shape, 8192, 2)
    expected = -(-weights(counted, FP8) // 16) + kept // 2 + WORKING
    assert need(shape, counted, FP8, ONE, Layout(8, 2)) == expected


def test_expert_parallel_cards_hold_their_experts_and_their_own_sequences() -> None:
    shape = shipped("kimi-k2")
    counted, kept = parameters(shape), cache(shape, 8192, 2)
    rest = weights(counted, FP8, experts=False)
    experts = weights(counted, FP8, rest=False)
    load = replace(ONE, sequences=65)
    found = need(shape, counted, FP8, load, Layout(expert=64))
    assert found == rest + -(-experts // 64) + 2 * kept + WORKING  # 65 sequences: one card has two


def test_the_layouts_keep_to_what_divides() -> None:
    kimi, smol = shipped("kimi-k2"), shipped("smollm2-135m")
    assert layouts(kimi, 16, ONE) == [Layout(8, 2)]
    assert layouts(kimi, 16, replace(ONE, sequences=16)) == [Layout(8, 2), Layout(expert=16)]
    assert layouts(shipped("gpt-oss-20b"), 64, replace(ONE, sequences=64)) == [Layout(8, 8)], "32 experts"
    assert layouts(smol, 8, ONE) == [Layout(1, 8)], "9 heads: no two cards share a layer"
    assert layouts(smol, 64, ONE) == [], "30 layers, at most 30 stages"


def test_many_sequences_of_a_latent_are_better_off_expert_parallel() -> None:
    found = plan(shipped("kimi-k2"), H200, FP8, Load(131_072, 64))
    assert found.layout == Layout(expert=16)
    assert found.need <= H200.room


def test_kimi_k2_takes_the_16_h200_that_its_makers_name() -> None:
    found = plan(shipped("kimi-k2"), H200, FP8, Load(131_072, 1))
    assert (found.cards, found.layout) == (16, Layout(8, 2))
    assert found.layout is not None and found.layout.name == "tensor parallel 8, pipeline of 2"


def test_what_no_number_of_cards_holds_says_what_they_all_lack() -> None:
    shape = shipped("kimi-k2")
    found = plan(shape, card(20 * 10**9), BF16, ONE)
    assert (found.layout, found.cards) == (None, None)
    assert found.lacking == (found.need - found.card.room) * 64
    assert found.short > found.lacking / 64 > 0


def test_cards_on_a_bus_stay_in_one_machine() -> None:
    shape = shipped("glm-4.5-air")
    size = card(48 * 10**9 * 9 // 10, linked=False)
    assert plan(shape, size, BF16, ONE).cards == 8
    small = replace(size, memory=24 * 10**9)
    assert plan(shape, small, BF16, ONE).cards is None
    assert plan(shape, replace(small, linked=True), BF16, ONE).cards == 16


def test_the_most_sequences_are_those_that_still_fit() -> None:
    shape = shipped("llama-3.1-8b")
    kept = cache(shape, 8192, 2)
    found = plan(shape, card(alone(shape) + 8 * kept), BF16, ONE)
    assert most_sequences(shape, found, ONE) == 8  # doubled while it fits: 9 would, 16 don't
    assert most_sequences(shape, plan(shape, card(alone(shape)), BF16, ONE), ONE) == 1
    assert most_sequences(shape, plan(shape, card(10**15), BF16, ONE), ONE) == 256


NAMES = ("kimi-k2", "glm-4.6", "glm-5.2", "gpt-oss-20b", "llama-3.1-8b", "smollm2-135m")
sizes = st.integers(1_000, 130_000)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), sizes, sizes, st.integers(1, 40), st.integers(1, 40))
def test_more_context_or_sequences_never_need_less(name: str, one: int, other: int, few: int, more: int) -> None:
    shape, counted = shipped(name), parameters(shipped(name))
    short, long = sorted((one, other))
    least, most = sorted((few, more))
    for layout in (Layout(), Layout(8), Layout(8, 2)):
        low = need(shape, counted, FP8, Load(short, least), layout)
        assert low <= need(shape, counted, FP8, Load(long, least), layout)
        assert low <= need(shape, counted, FP8, Load(short, most), layout)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.integers(16, 300), st.integers(16, 300))
def test_a_larger_card_never_takes_more_of_them(name: str, one: int, other: int) -> None:
    small, large = sorted((one, other))
    few, many = (
        plan(shipped(name), replace(H200, memory=size * 10**9), FP8, ONE).cards or 10**6 for size in (large, small)
    )
    assert few <= many


@pytest.mark.parametrize("count", COUNTS)
def test_a_layout_has_as_many_cards_as_it_was_made_for(count: int) -> None:
    assert all(layout.cards == count for layout in layouts(shipped("kimi-k2"), count, Load(8192, 64)))
