"""A report with all that it can show, for tests: ``python -m tests.unit.rollouts.sample_report`` prints the page."""

from __future__ import annotations

import math
import sys
from typing import Any

from sluiceway.rollouts.report import report_html
from sluiceway.rollouts.views import JournalEntry, RolloutView, read
from tests.unit.rollouts.fake_stage import BEGAN, entry, gate, view

NOW = BEGAN + 3_600_000
GATES = (
    gate(),
    gate("first_token", slo=5.0, verdict="pass", reason=None),
    gate("latency", slo=8.0),
    gate("cost", slo=0.01),
)
LONG = "chat: chat@2 goes from 1 % to 10 %: errors, first_token, latency and empty pass after 30 min."


def histogram(requests: int, middle_ms: float) -> list[int]:
    """Log-normal around ``middle_ms``, by buckets of which four are a doubling."""
    middle = math.log2(middle_ms) * 4
    return [round(requests * math.exp(-(((place - middle) / 4) ** 2) / 2) / 10.03) for place in range(70)]


def figures(**changes: object) -> dict[str, Any]:
    cost = {1: [[90, 0.18], [80, 0.16], [85, 0.17]], 2: [[1, 0.002], [0, 0.0], [10, 0.05]]}
    versions = [
        {"version": version, "requests": 1000 // version, "first_token": histogram(900 // version, 300.0 * version),
         "total": histogram(900 // version, 2_000.0 * version), "cost": cost[version]}
        for version in (2, 1)
    ]  # fmt: skip
    return {"since": BEGAN, "slot_ms": 1_200_000, "per_doubling": 4, "versions": versions, **changes}


def rollout(**changes: object) -> RolloutView:
    return read(RolloutView, {**view(gates=list(GATES), figures=figures()), **changes}, "view")


def journal() -> list[JournalEntry]:
    raw = [
        entry(1, "chat: chat@1 has it all.", kind="spec", weights=[[1, 100]]),
        entry(2, "chat: canary of chat@2 begins at 1 %.", kind="start", weights=[[1, 99], [2, 1]], gates=[*GATES]),
        entry(3, LONG, weights=[[1, 90], [2, 10]], gates=[*GATES]),
    ]
    return [read(JournalEntry, one, "entry") for one in raw]


if __name__ == "__main__":
    sys.stdout.write(report_html("staging", [rollout()], journal(), NOW))
