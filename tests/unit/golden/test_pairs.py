"""The test on pairs: the shared numbers, the figures that it was chosen for, and what it must never do."""

from __future__ import annotations

import json
import random
from statistics import median
from typing import Any

import pytest

from sluiceway.golden.pairs import Pairs, PairSettings, Verdict, interval, judge_pairs, observe_pair
from tests.contract import make_golden

PLAIN = PairSettings()
CASES: list[dict[str, Any]] = json.loads(make_golden.FILE.read_text("utf-8"))


def test_the_contract_is_what_its_maker_writes() -> None:
    assert make_golden.FILE.read_text("utf-8") == make_golden.document()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_states_are_those_of_the_contract(case: dict[str, Any]) -> None:
    settings = PairSettings(**case["settings"])
    wanted = {state["after"]: state for state in case["states"]}
    state, reached = Pairs(), 0
    for count in range(len(case["differences"]) + 1):
        if count:
            state = observe_pair(state, case["differences"][count - 1], settings)
        if count in wanted:
            reached += 1
            told, judged = wanted[count], judge_pairs(state, settings)
            assert state.fail == pytest.approx(told["fail"], abs=1e-9)
            assert state.passing == pytest.approx(told["pass"], abs=1e-9)
            assert (judged.failing, judged.passing) == pytest.approx((told["failing"], told["passing"]), abs=1e-9)
            assert judged.verdict == told["verdict"]
    assert reached == len(wanted) > 0


def decided(drawn: random.Random, mean: float, sd: float, most: int) -> tuple[Verdict, int]:
    """The first verdict on normal differences, cut to the scale, and after how many pairs it came."""
    state = Pairs()
    for count in range(1, most + 1):
        state = observe_pair(state, min(1.0, max(-1.0, drawn.gauss(mean, sd))), PLAIN)
        verdict = judge_pairs(state, PLAIN).verdict
        if verdict != "inconclusive":
            return verdict, count
    return "inconclusive", most


def test_t11_a_candidate_worse_by_a_fifth_fails_after_about_63_prompts() -> None:
    drawn = random.Random(11)
    ends = [decided(drawn, 0.2, 0.25, 2_000) for _ in range(200)]
    assert {verdict for verdict, _ in ends} == {"fail"}
    assert 63 * 0.8 <= median(count for _, count in ends) <= 63 * 1.2


def test_t11_an_equal_candidate_passes_after_about_122_prompts() -> None:
    drawn = random.Random(12)
    ends = [decided(drawn, 0.0, 0.1, 2_000) for _ in range(200)]
    assert {verdict for verdict, _ in ends} == {"pass"}
    assert 122 * 0.85 <= median(count for _, count in ends) <= 122 * 1.15


def test_at_the_margin_wrong_verdicts_are_as_rare_as_was_asked() -> None:
    drawn = random.Random(13)
    ends = [decided(drawn, 0.05, 0.25, 400)[0] for _ in range(200)]
    assert ends.count("fail") <= 8  # 1 % allowed: 2 expected at the most, more than 8 in 1 of 4,000 seeds
    assert ends.count("pass") <= 22  # 5 % allowed


def test_the_order_of_the_pairs_makes_no_difference() -> None:
    differences = [0.5, -0.25, 0.0, 1.0, -1.0, 0.125]
    there, back = Pairs(), Pairs()
    for one, other in zip(differences, reversed(differences), strict=True):
        there, back = observe_pair(there, one, PLAIN), observe_pair(back, other, PLAIN)
    assert there.fail == pytest.approx(back.fail, abs=1e-12)
    assert there.passing == pytest.approx(back.passing, abs=1e-12)


@pytest.mark.parametrize("difference", [1.01, -1.5, float("nan"), float("inf")])
def test_a_difference_off_the_scale_is_refused(difference: float) -> None:
    with pytest.raises(ValueError, match="between -1 and 1"):
        observe_pair(Pairs(), difference, PLAIN)


@pytest.mark.parametrize("every", [1.0, -1.0, 0.0])
def test_numbers_stay_finite_however_long_it_runs(every: float) -> None:
    state = Pairs()
    for _ in range(20_000):
        state = observe_pair(state, every, PLAIN)
    judged = judge_pairs(state, PLAIN)
    assert 0 <= judged.failing <= 1 and 0 <= judged.passing <= 1
    assert judged.verdict == ("fail" if every == 1.0 else "pass")


def test_the_upper_end_is_below_the_margin_exactly_when_the_test_passes() -> None:
    drawn, state = random.Random(14), Pairs()
    seen: list[float] = []
    agreed = set()
    for _ in range(200):
        seen.append(drawn.gauss(0.0, 0.1))
        state = observe_pair(state, seen[-1], PLAIN)
        if len(seen) % 10 == 0:
            bounds = interval(seen, PLAIN.beta)
            assert bounds is not None
            passed = judge_pairs(state, PLAIN).verdict == "pass"
            assert (bounds[1] < PLAIN.margin) == passed
            agreed.add(passed)
    assert agreed == {True, False}


def test_an_interval_holds_the_mean_and_narrows() -> None:
    assert interval([], 0.05) is None
    few, many = interval([0.2, 0.3] * 10, 0.05), interval([0.2, 0.3] * 100, 0.05)
    assert few is not None and many is not None
    assert -1 <= few[0] < many[0] < 0.25 < many[1] < few[1] <= 1
    assert interval([0.25], 0.05) == pytest.approx((-1, 1))


def test_an_interval_turns_with_the_sign() -> None:
    seen = [0.5, -0.1, 0.3, 0.0] * 10
    there, back = interval(seen, 0.05), interval([-each for each in seen], 0.05)
    assert there is not None and back is not None
    assert there == pytest.approx((-back[1], -back[0]))
