"""Two ways of doing the same, run in turn so that a machine that slows down slows both."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def compare(claim: str, ours: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """Runs each ``rounds`` times after one warm-up; prints and gives median(ours / other), pair by pair."""
    ours(), other()
    pairs = [(_seconds(ours), _seconds(other)) for _ in range(rounds)]
    ratios = sorted(mine / its for mine, its in pairs)
    middle = median(ratios)
    print(
        f"{claim}\n  ours {median(mine for mine, _ in pairs) * 1000:9.1f} ms"
        f"   other {median(its for _, its in pairs) * 1000:9.1f} ms"
        f"   ratio {middle:.3f} (from {ratios[0]:.3f} to {ratios[-1]:.3f}, {rounds} pairs)",
        flush=True,
    )
    return middle


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
