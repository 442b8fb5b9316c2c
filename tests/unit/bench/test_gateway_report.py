"""The goals of the gateway's measurement, judged on made-up figures."""

from __future__ import annotations

from bench.gateway.report import BY_ENTRY, Measured, Row, goals, table

WORKERS = ("bare Worker, fetch", "bare Worker, env.AI", "least gateway, fetch", "ours, openai", "ours, workers-ai")
NAMES = ("direct", *WORKERS, *(f"{name}{BY_ENTRY}" for name in WORKERS), "Portkey")


def row(name: str, p50: float, *, stream: bool = False, connections: int = 1) -> Row:
    return {
        "name": name,
        "stream": stream,
        "connections": connections,
        "p50": p50,
        "p90": p50,
        "p99": p50,
        "firstP50": p50,
        "perSecond": 1000 / p50,
        "processor": p50,
    }


def measured(**p50: float) -> Measured:
    """Every contender takes 1 ms but those that are named; a Worker as long by either way unless both are."""
    took = {name: p50.get(name, p50.get(name.removesuffix(BY_ENTRY), 1.0)) for name in NAMES}
    rows = [row(name, took[name], connections=at_once) for at_once in (1, 32) for name in NAMES]
    return {"rows": rows, "memory": {"ours, openai": 100.0}, "cold": {"ours, openai": 200.0}}


def missed(found: Measured, gzip_bytes: int = 1, startup_ms: float = 1.0) -> list[str]:
    return [goal["goal"] for goal in goals(found, gzip_bytes, startup_ms) if not goal["holds"]]


def test_being_as_fast_as_portkey_is_not_being_ahead() -> None:
    assert missed(measured()) == ["ours, openai: ahead of Portkey in every row"]


def test_each_goal_is_missed_by_a_little_too_much() -> None:
    slow = measured(**{"ours, openai": 1.61, "Portkey": 9.0})
    assert missed(slow) == [
        "ours, openai: at most 0.6 ms over a bare Worker, fetch, one at a time",
        "ours, openai: at most 1.4 times a bare Worker, fetch, 32 at once",
    ]
    fast = measured(Portkey=9.0)
    assert missed(fast, gzip_bytes=120_001) == ["bundle at most 120 kB gzipped"]
    assert missed(fast, startup_ms=25.0) == ["start-up below 25 ms"]
    assert missed(fast) == []


def test_a_miss_beside_a_rival_tells_whether_the_least_gateway_is_behind_too() -> None:
    found = measured(**{"ours, openai": 3.0, "least gateway, fetch": 1.5, "Portkey": 2.0, "bare Worker, fetch": 1.0})
    seen = {goal["goal"]: goal["seen"] for goal in goals(found, 1, 1.0)}
    assert seen["ours, openai: ahead of Portkey in every row"] == (
        "ahead in 0 of 2 rows (in 0 of the others the least gateway is behind too)"
    )
    found = measured(**{"ours, openai": 3.0, "least gateway, fetch": 2.5, "Portkey": 2.0})
    seen = {goal["goal"]: goal["seen"] for goal in goals(found, 1, 1.0)}
    assert "in 2 of the others" in seen["ours, openai: ahead of Portkey in every row"]
    assert "can be: 2.50 (2.50)" in seen["ours, openai: at most 1.4 times a bare Worker, fetch, 32 at once"]


def test_rivals_are_beside_the_worker_itself_and_bare_workers_by_the_same_way_in() -> None:
    entry = {"Portkey": 2.0, "ours, openai": 1.0, f"ours, openai{BY_ENTRY}": 3.0, f"bare Worker, fetch{BY_ENTRY}": 2.5}
    assert missed(measured(**entry)) == []
    own = {"Portkey": 2.0, "ours, openai": 2.5, f"ours, openai{BY_ENTRY}": 1.0}
    assert missed(measured(**own)) == ["ours, openai: ahead of Portkey in every row"]
    seen = {goal["goal"]: goal["seen"] for goal in goals(measured(**own), 1, 1.0)}
    assert seen["ours, openai: at most 1.4 times a bare Worker, fetch, 32 at once"].startswith("1.00 (2.50 without")


def test_the_table_has_a_line_for_each_contender_in_each_cell() -> None:
    lines = table(measured())
    assert len([line for line in lines if line.startswith("  ours, openai")]) == 5
