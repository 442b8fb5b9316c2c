"""What is made of runs on a stage: figures of one run, and the goals of many."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from bench.rollout.live_report import Run, goals, medians, table
from bench.rollout.load import Asked

VERDICT = 10_000.0


def entry(cause: str = "gate:errors") -> dict[str, Any]:
    return {"at": VERDICT, "cause": cause, "gates": [{"candidate": {"requests": 2}}, {"candidate": {"requests": 1}}]}


def run(kind: str = "fails-20", requests: int = 60, follows: float = 2.0, named: str | None = "errors") -> Run:
    return Run(kind, "errors", named, requests, requests, follows, follows, asked=1000, unanswered=0)


def missed(*runs: Run) -> list[str]:
    return [goal["goal"] for goal in goals(runs) if not goal["holds"]]


def test_a_run_counts_what_the_candidate_was_asked_before_the_verdict_and_who_followed_late() -> None:
    asked = [
        Asked(VERDICT - 500, VERDICT - 400, True, 200),
        Asked(VERDICT - 100, VERDICT + 3000, True, 200),
        Asked(VERDICT + 1500, VERDICT + 1600, True, 200),
        Asked(VERDICT + 2500, VERDICT + 2600, False, 200),
        Asked(VERDICT + 2600, VERDICT + 2700, False, 0),
    ]
    found = Run.of("fails-20", "errors", entry(), asked)
    assert (found.requests, found.counted, found.named) == (2, 2, "errors")
    assert (found.last_asked_s, found.last_answer_s) == (1.5, 3.0)
    assert (found.asked, found.unanswered) == (5, 1)


def test_a_run_without_a_verdict_is_told_and_keeps_no_goal() -> None:
    found = Run.of("fails-20", "errors", None, [Asked(1, 2, True, 200)])
    assert found.named is None and found.last_asked_s < inf
    assert "was not rolled back" in found.told()
    assert len(missed(found)) == 3


def test_goals_hold_up_to_their_bound_and_no_further() -> None:
    assert missed(run(), run(), run(requests=500), run("fails-100", 15)) == []
    assert missed(run(requests=61)) == ["live, fails-20: rolled back after at most 60 of its requests in the median"]
    assert missed(run("fails-100", 16)) == [
        "live, fails-100: rolled back after at most 15 of its requests in the median"
    ]
    assert missed(run(), run(follows=2.01)) == [
        "live: nobody who asks later than 2 s after the verdict gets the candidate"
    ]
    assert missed(run(), run(named="latency")) == ["live, fails-20: its own gate is named, errors"]


@pytest.mark.parametrize("kind", ["slower", "refuses"])
def test_the_table_has_a_line_for_each_kind(kind: str) -> None:
    lines = table([run(), run(kind, 10), run(kind, 20)])
    assert len(lines) == 4 and lines[-1].split()[:4] == [kind, "2", "errors", "15"]


def test_a_run_that_broke_off_says_so_and_keeps_no_goal() -> None:
    broken = Run.of("slower", "latency", None, [Asked(1, 2, True, 200)], broken="ConnectError: gone")
    assert broken.told() == "slower         broke off, after 1 requests: ConnectError: gone"
    assert "live, slower: its own gate is named, latency" in missed(broken)


def test_medians_say_of_each_kind_what_there_was() -> None:
    found = medians([run(requests=40), run(requests=50, named="latency"), run("fails-100", named=None)])
    assert found["fails-20"] | {"requests": 45, "runs": 2, "named": 1, "broken": 0} == found["fails-20"]
    assert found["fails-100"]["requests"] is None
