"""A gate's bets are fair: by counting all outcomes of a block, and apart from the Worker's own code.

What the Worker computes is held to the same numbers by ``worker/src/gates/contract.test.ts``.
"""

from __future__ import annotations

import json
from itertools import product
from math import exp
from typing import Any

import pytest

from tests.contract import make_gates
from tests.contract.gates import Side, factor, factors, mean, nearest
from tests.contract.make_gates import MARGINS, SHAPES

#: Stable's true rate, and how far candidate's lies within the null.
TRUE = (0.0005, 0.01, 0.04, 0.1, 0.3, 0.6, 0.9)
WITHIN = (0.0, 0.01, 0.05, 0.3)
#: The rates that a bet may assume.
ASSUMED = ((0.01, 0.04), (0.01, 0.2), (0.04, 0.06), (0.3, 0.9), (0.2, 0.01), (0.04, 0.04), (0.9, 0.2), (0.5, 0.51))


def null_points(margin: float, side: Side) -> list[tuple[float, float]]:
    """True rates of stable and candidate for which the bet must not win on average."""
    sign = -1 if side == "fail" else 1
    points = [(stable, stable + margin + sign * far) for stable, far in product(TRUE, WITHIN)]
    return [(stable, candidate) for stable, candidate in points if 0 <= candidate <= 1]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}:{shape[1]}")
@pytest.mark.parametrize("side", ["fail", "pass"])
def test_no_bet_wins_on_average_where_the_null_is_true(shape: tuple[int, int], side: Side) -> None:
    means = []
    for margin, (ts, tc) in product((*MARGINS, -0.03), ASSUMED):
        if (tc > ts + margin) == (side == "fail"):
            table = factors(ts, tc, shape, margin, side)
            means += [mean(table, true) for true in null_points(margin, side)]
    assert len(means) > 100
    assert max(means) <= 1 + 1e-9
    # The point that a bet is held to is as good for it as any: the bound is reached, so nothing is given away.
    assert max(means) > 0.999


def test_a_bet_wins_on_average_where_its_rates_are_the_true_ones() -> None:
    for shape in SHAPES:
        assert mean(factors(0.01, 0.2, shape, 0.02, "fail"), (0.01, 0.2)) > 1.05
        assert mean(factors(0.2, 0.01, shape, 0.02, "pass"), (0.2, 0.01)) > 1.05


def test_the_nearest_point_of_the_null_is_likelier_than_its_neighbours() -> None:
    for (ms, mc), margin in product(SHAPES, MARGINS):
        p = nearest(0.1, 0.4, ms, mc, margin)

        def likelihood(p: float, margin: float = margin, ms: int = ms, mc: int = mc) -> float:
            q = p + margin
            return float((p**0.1 * (1 - p) ** 0.9) ** ms * (q**0.4 * (1 - q) ** 0.6) ** mc)

        assert likelihood(p) > max(likelihood(p - 1e-4), likelihood(p + 1e-4))


def test_t1_the_golden_numbers_come_out_here_too() -> None:
    assert nearest(0.01, 0.2, 19, 1, 0.02) == pytest.approx(0.013621107, abs=1e-9)
    assert factor(0.01, 0.2, (19, 0, 1, 1), 0.02, "fail") == pytest.approx(exp(1.852786713), abs=1e-6)
    assert factor(0.01, 0.2, (19, 1, 1, 0), 0.02, "fail") == pytest.approx(exp(-0.432020731), abs=1e-6)
    assert factor(0.01, 0.01, (19, 0, 1, 0), 0.02, "pass") == pytest.approx(exp(0.013457600), abs=1e-6)
    assert factor(0.3, 0.6, (10, 3, 10, 7), 0.05, "fail") == pytest.approx(exp(1.156699531), abs=1e-6)


def test_the_contract_is_what_its_maker_writes() -> None:
    """To nine digits: the last ones are the machine's logarithm's."""
    assert _rounded(make_gates.FILE.read_text("utf-8")) == _rounded(make_gates.document())


def test_the_contract_has_each_verdict_and_reason() -> None:
    wrote: dict[str, Any] = json.loads(make_gates.FILE.read_text("utf-8"))
    seen = {(state["verdict"], state["reason"]) for run in wrote["runs"] for state in run["states"]}
    reasons = ("platform", "stable-degraded", "suspect", "no-control", "inconclusive")
    assert seen == {("pass", None), ("fail", None), *(("inconclusive", reason) for reason in reasons)}


def _rounded(text: str) -> object:
    return json.loads(text, parse_float=lambda digits: round(float(digits), 9))
