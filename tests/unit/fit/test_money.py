"""What a month costs, and from which volume on cards are the cheaper: worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluiceway.domain.model import Price
from sluiceway.fit.cards import Card, Layout, Plan
from sluiceway.fit.memory import BY_NAME
from sluiceway.fit.money import BreakEven, Mix, Reserved, break_even, reserved, workers_ai
from sluiceway.fit.speed import Range, Speed

KIMI = Price(0.95, 4.00, 0.16)
H200 = Card("h200", 141 * 10**9, 4.8e12, 989e12)
EIGHT = Plan(H200, BY_NAME["int4"], Layout(8), 0, 0)
# A prompt of 1000 tokens in 0.1 s (slow 0.2 s), ten answers at 100 tokens a second (slow 50).
SPEED = Speed(1000, 10, Range(0.1, 0.2), Range(0.01, 0.02), Range(0.0001, 0.0002))


def cards(usd: float, least: int = 10**9, most: int = 2 * 10**9) -> Reserved:
    return Reserved("h200", 8, 1.0, usd, 10, least, most)


def test_a_month_on_workers_ai_is_its_tokens_by_their_price() -> None:
    assert workers_ai(KIMI, Mix(3, 1), 100_000_000) == pytest.approx(75 * 0.95 + 25 * 4.00)
    assert workers_ai(KIMI, Mix(1, 0), 2_000_000) == pytest.approx(1.90)
    assert workers_ai(KIMI, Mix(0, 1), 2_000_000) == pytest.approx(8.00)


def test_reserved_cards_cost_all_hours_of_a_month() -> None:
    found = reserved(EIGHT, SPEED, Mix(3, 1), 2.5)
    assert found is not None
    assert found.usd == 8 * 2.5 * 730
    # A token of three read and one written in four: 0.1 ms each of a prompt, 1 ms each of an answer.
    assert found.most == int(730 * 3600 * 0.5 / (0.75 * 0.0001 + 0.25 * 0.001))
    assert found.least == int(730 * 3600 * 0.5 / (0.75 * 0.0002 + 0.25 * 0.002))


def test_without_a_price_or_without_cards_nothing_is_reserved() -> None:
    assert reserved(EIGHT, SPEED, Mix(3, 1), None) is None
    assert reserved(Plan(H200, BY_NAME["int4"], None, 0, 0), None, Mix(3, 1), 2.5) is None


def test_the_break_even_is_the_volume_at_which_both_cost_the_same() -> None:
    found = break_even(KIMI, Mix(3, 1), cards(1_712.50))
    assert found == BreakEven(1_000_000_000, "yes")
    assert workers_ai(KIMI, Mix(3, 1), found.tokens) == pytest.approx(1_712.50)


@pytest.mark.parametrize(
    ("usd", "reached"), [(1_712.50, "yes"), (1_712.51, "perhaps"), (3_425.0, "perhaps"), (3_425.01, "no")]
)
def test_the_break_even_counts_only_where_the_cards_do_so_much(usd: float, reached: str) -> None:
    found = break_even(KIMI, Mix(3, 1), cards(usd))
    assert found is not None and found.reached == reached


def test_a_price_of_nothing_is_never_the_dearer() -> None:
    assert break_even(Price(0, 0), Mix(3, 1), cards(100)) is None
    assert break_even(Price(0.02, 0), Mix(0, 1), cards(100)) is None


def test_a_volume_over_what_a_set_does_takes_more_sets() -> None:
    found = cards(100.0, least=10, most=30)
    assert found.for_volume(1) == (100.0, 100.0)
    assert found.for_volume(10) == (100.0, 100.0)
    assert found.for_volume(11) == (100.0, 200.0)
    assert found.for_volume(31) == (200.0, 400.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 10**12), st.integers(1, 10**12), st.integers(0, 9), st.integers(1, 9))
def test_more_tokens_never_cost_less_and_above_the_break_even_cards_are_cheaper(
    one: int, other: int, read: int, written: int
) -> None:
    mix, low, high = Mix(read, written), *sorted((one, other))
    assert workers_ai(KIMI, mix, low) <= workers_ai(KIMI, mix, high) + 1e-5
    set_of_cards = cards(5_000.0, least=10**13, most=10**13)
    even = break_even(KIMI, mix, set_of_cards)
    assert even is not None and even.reached == "yes"
    assert workers_ai(KIMI, mix, even.tokens + 1_000) > set_of_cards.usd
    assert workers_ai(KIMI, mix, even.tokens - 1_000) < set_of_cards.usd
