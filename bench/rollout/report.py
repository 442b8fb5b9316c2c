"""What the simulation says, as a table and against the goals."""

from __future__ import annotations

from math import inf
from statistics import median
from typing import Literal, TypedDict

OURS = "ours"
Kind = Literal["broken", "healthy", "common"]
TITLES: dict[Kind, str] = {
    "broken": "a broken candidate: seconds, and requests of its own, until it is rolled back (median)",
    "healthy": "a healthy candidate, ramped over 5, 25 and 50 % in 30 minutes: how often it is rolled back",
    "common": "a fault of both arms: how often the candidate is rolled back for it",
}


class Row(TypedDict):
    """Of one rule in one world: of each run when it rolled back, and after how many of candidate's requests."""

    kind: Kind
    world: str
    rule: str
    runs: int
    seconds: list[float | None]
    requests: list[float | None]
    platform: int


class Simulated(TypedDict):
    rows: list[Row]
    updateMicroseconds: float


class Goal(TypedDict):
    goal: str
    seen: str
    holds: bool


def table(simulated: Simulated) -> list[str]:
    lines = []
    for kind, title in TITLES.items():
        lines.append(title)
        rows = [row for row in simulated["rows"] if row["kind"] == kind]
        for world in dict.fromkeys(row["world"] for row in rows):
            lines.append(f"  {world}")
            lines += [f"    {row['rule']:26} {_told(row)}" for row in rows if row["world"] == world]
    return lines


def goals(simulated: Simulated) -> list[Goal]:
    """Each goal with what was seen: ahead of every rule in all three, and the engine's own bounds."""
    rows, found = simulated["rows"], []
    rules = [rule for rule in dict.fromkeys(row["rule"] for row in rows) if rule != OURS]
    for rule in rules:
        found += [_sooner(rows, rule), _rarer(rows, rule, "healthy"), _rarer(rows, rule, "common")]
    for share, most in (("20 %", 60), ("100 %", 15)):
        broken = [row for row in _of(rows, OURS, "broken") if row["world"].startswith(share)]
        seen = max(_middle(row["requests"]) for row in broken)
        goal = f"{share} of candidate bad: rolled back after at most {most} of its requests in the median"
        found.append(_goal(goal, f"{seen:.0f}", seen <= most))
    healthy, common = (_share(rows, OURS, kind) for kind in ("healthy", "common"))
    found.append(_goal("at most 1 % of healthy candidates are rolled back", f"{100 * healthy:.1f} %", healthy <= 0.01))
    found.append(_goal("none is rolled back for a fault of both arms", f"{100 * common:.1f} %", common == 0))
    told = sum(row["platform"] for row in _of(rows, OURS, "common"))
    runs = sum(row["runs"] for row in _of(rows, OURS, "common"))
    found.append(_goal("such a fault is called the platform's", f"{told} of {runs}", told == runs))
    cost = simulated["updateMicroseconds"]
    found.append(_goal("an update of a gate takes less than 25 us of processor", f"{cost:.1f} us", cost < 25))
    return found


def _sooner(rows: list[Row], rule: str) -> Goal:
    """The ratio of how long it takes, in the world where ours is least ahead."""
    ours = {row["world"]: _middle(row["seconds"]) for row in _of(rows, OURS, "broken")}
    ratios = [_middle(row["seconds"]) / ours[row["world"]] for row in _of(rows, rule, "broken")]
    least = min(ratios)
    seen = f"{least:.1f} times as fast at least" if least < inf else "it never decided"
    return _goal(f"a broken candidate is rolled back sooner than by {rule}", seen, least > 1)


def _rarer(rows: list[Row], rule: str, kind: Kind) -> Goal:
    ours, theirs = _share(rows, OURS, kind), _share(rows, rule, kind)
    what = "a healthy candidate is" if kind == "healthy" else "for a fault of both arms a candidate is"
    seen = f"{100 * ours:.1f} % against {100 * theirs:.1f} %"
    return _goal(f"{what} rolled back less often than by {rule}", seen, ours < theirs)


def _of(rows: list[Row], rule: str, kind: Kind) -> list[Row]:
    return [row for row in rows if row["rule"] == rule and row["kind"] == kind]


def _share(rows: list[Row], rule: str, kind: Kind) -> float:
    """Of all runs of a kind, the share that was rolled back."""
    ends = [second for row in _of(rows, rule, kind) for second in row["seconds"]]
    return sum(second is not None for second in ends) / len(ends)


def _middle(values: list[float | None]) -> float:
    """The median; infinite when that run was not rolled back."""
    return median(inf if value is None else value for value in values)


def _told(row: Row) -> str:
    if row["kind"] == "broken":
        seconds = _middle(row["seconds"])
        return "never" if seconds == inf else f"{seconds:8.1f} s {_middle(row['requests']):8.0f} requests"
    rolled_back = sum(second is not None for second in row["seconds"])
    platform = f", said platform in {row['platform']}" if row["kind"] == "common" and row["rule"] == OURS else ""
    return f"{rolled_back:4} of {row['runs']}{platform}"


def _goal(goal: str, seen: str, holds: bool) -> Goal:
    return {"goal": goal, "seen": seen, "holds": holds}
