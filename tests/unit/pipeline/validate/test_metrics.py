"""Figures of drift against what they must be by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sluiceway.pipeline.validate import metrics
from sluiceway.pipeline.validate.verdict import Finding

RNG = np.random.default_rng(1)


def test_cosine_is_that_of_each_row() -> None:
    got = metrics.cosine(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 2.0], [3.0, 3.0]]))
    assert got == pytest.approx([0.0, 1.0])
    assert np.isnan(metrics.cosine(np.ones((1, 2)), np.zeros((1, 2)))).all()


def test_ranks_of_equal_values_share_their_places() -> None:
    assert metrics.ranks(np.array([5.0, 1.0, 5.0, 7.0])).tolist() == [1.5, 0.0, 1.5, 3.0]


def test_rank_correlation_sees_the_order_alone() -> None:
    rows = RNG.standard_normal((6, 5))
    assert metrics.rank_correlation(rows, rows * 3) == pytest.approx(1.0)
    assert metrics.rank_correlation(rows, RNG.standard_normal((6, 5))) < 0.9
    assert math.isnan(metrics.rank_correlation(rows, rows * np.nan))


def test_divergence_is_nought_for_equal_odds_and_that_of_a_coin_by_hand() -> None:
    even, biased = np.log(np.array([[0.5, 0.5]])), np.log(np.array([[0.9, 0.1]]))
    assert metrics.kl(even, even + 7) == pytest.approx([0.0])
    assert metrics.kl(even, biased) == pytest.approx([0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1)])


def test_many_rows_are_taken_in_blocks_with_the_same_answer() -> None:
    a, b = RNG.standard_normal((150, 7)), RNG.standard_normal((150, 7))
    one_by_one = [float(metrics.kl(a[n : n + 1], b[n : n + 1])[0]) for n in range(150)]
    assert metrics.kl(a, b) == pytest.approx(one_by_one)
    targets = RNG.integers(0, 7, 150)
    alone = [float(metrics.surprise(a[n : n + 1], targets[n : n + 1])[0]) for n in range(150)]
    assert metrics.surprise(a, targets) == pytest.approx(alone)


def test_perplexity_of_even_odds_is_how_many_there_are() -> None:
    assert metrics.perplexity(metrics.surprise(np.zeros((3, 8)), np.array([0, 3, 7]))) == pytest.approx(8.0)
    assert metrics.perplexity(np.array([1e6])) == math.inf


def test_an_offset_is_counted_in_spreads_of_the_row() -> None:
    row = np.array([[1.0, -1.0, 1.0, -1.0]])
    assert metrics.offset(row, row + 1000) == pytest.approx([1000.0])
    assert metrics.offset(row, row[:, ::-1]) == pytest.approx([0.0])


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_ox_09_a_broken_number_never_becomes_a_good_figure(broken: float) -> None:
    good = RNG.standard_normal((4, 6))
    bad = good.copy()
    bad[2, 1] = broken
    assert metrics.finite_rows(bad).tolist() == [True, True, False, True]
    assert not metrics.top1(good, bad)[2]
    for figure in (metrics.kl(good, bad), metrics.offset(good, bad)):
        assert not Finding("max", "figure", float(figure.mean()), 1e300, least=False).passes
    assert not Finding("min", "cosine", float(metrics.cosine(good, bad).min()), -2.0, least=True).passes


@pytest.mark.parametrize("least", [True, False])
def test_ox_09_no_limit_lets_a_figure_pass_that_is_no_number(least: bool) -> None:
    found = Finding("x", "minimum cosine", math.nan, 0.98, least)
    assert not found.passes
    assert "is no number" in str(found)


@pytest.mark.parametrize(("value", "passes"), [(0.98, True), (0.97999, False), (0.947, False), (1.0, True)])
def test_a_limit_itself_is_allowed_and_a_fail_says_both_numbers(value: float, passes: bool) -> None:
    found = Finding("min_cosine", "minimum cosine", value, 0.98, least=True)
    assert found.passes is passes
    if value == 0.947:
        assert str(found) == "minimum cosine 0.947, at least 0.98 is asked for"
    if value == 0.97999:
        assert str(found) == "minimum cosine 0.97999, at least 0.98 is asked for"
