"""The goals of the rollouts' simulation, judged on made-up runs."""

from __future__ import annotations

from bench.rollout.report import OURS, Kind, Row, Simulated, goals, table

RIVAL = "Flagger"


def row(kind: Kind, rule: str, seconds: list[float | None], world: str = "20 % bad", platform: int = 0) -> Row:
    requests = [None if second is None else second / 10 for second in seconds]
    return {
        "kind": kind,
        "world": world,
        "rule": rule,
        "runs": len(seconds),
        "seconds": seconds,
        "requests": requests,
        "platform": platform,
    }


def simulated(*other: Row, cost: float = 5.0) -> Simulated:
    """All goals hold, but for rows that replace one of the same kind, rule and world."""
    worlds: tuple[tuple[Kind, str], ...] = (("broken", "20 % bad"), ("broken", "100 % bad"), ("healthy", "good"))
    usual = [row("common", OURS, [None, None], "fault", platform=2), row("common", RIVAL, [9.0, None], "fault")]
    for kind, world in worlds:
        usual.append(row(kind, OURS, [100.0, 120.0, 90.0] if kind == "broken" else [None] * 3, world))
        usual.append(row(kind, RIVAL, [600.0, None, 600.0], world))
    known = {(each["kind"], each["rule"], each["world"]): each for each in [*usual, *other]}
    return {"rows": list(known.values()), "updateMicroseconds": cost}


def missed(found: Simulated) -> list[str]:
    return [goal["goal"] for goal in goals(found) if not goal["holds"]]


def test_all_goals_can_hold() -> None:
    assert missed(simulated()) == []


def test_being_as_fast_in_one_world_is_not_being_ahead() -> None:
    slow = row("broken", RIVAL, [100.0, 100.0, 100.0], "100 % bad")
    assert missed(simulated(slow)) == ["a broken candidate is rolled back sooner than by Flagger"]


def test_rolling_back_as_rarely_is_not_being_ahead() -> None:
    never = row("healthy", RIVAL, [None] * 3, "good")
    assert missed(simulated(never)) == ["a healthy candidate is rolled back less often than by Flagger"]


def test_a_run_that_never_decides_counts_as_the_slowest() -> None:
    assert missed(simulated(row("broken", OURS, [100.0, None, 90.0]))) == []
    undecided = missed(simulated(row("broken", OURS, [100.0, None, None])))
    assert undecided[0] == "a broken candidate is rolled back sooner than by Flagger"
    assert "20 % of candidate bad: rolled back after at most 60 of its requests in the median" in undecided


def test_each_bound_of_the_engine_is_missed_by_a_little_too_much() -> None:
    late = row("broken", OURS, [151.0] * 3, "100 % bad")
    assert missed(simulated(late)) == [
        "100 % of candidate bad: rolled back after at most 15 of its requests in the median"
    ]
    false = row("healthy", OURS, [None] * 49 + [60.0], "good")
    assert missed(simulated(false)) == ["at most 1 % of healthy candidates are rolled back"]
    fault = row("common", OURS, [None, None, None, 60.0], "fault", platform=3)
    assert missed(simulated(fault)) == [
        "none is rolled back for a fault of both arms",
        "such a fault is called the platform's",
    ]
    assert missed(simulated(cost=25.0)) == ["an update of a gate takes less than 25 us of processor"]


def test_the_table_has_a_line_for_each_rule_in_each_world() -> None:
    lines = table(simulated(row("broken", RIVAL, [None] * 3)))
    assert len([line for line in lines if line.startswith("    ours ")]) == 4
    assert [line for line in lines if line.endswith("never")] == [f"    {RIVAL:26} never"]
