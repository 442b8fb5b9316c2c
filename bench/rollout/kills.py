"""`kill -9` at random moments of two rollouts on a stage: what was lost, and where they ended."""

from __future__ import annotations

import os
import sys
import time

from bench.rollout.report import Goal
from sluiceway.progress import human_seconds
from tests.e2e.rollout_kills import BAD, GOOD, Killed, killed


def measured(kills: int) -> Killed:
    """``kills`` of them, of workerd, host and daemon in turn, on a stage of its own that is gone afterwards."""
    began = time.monotonic()

    def say(text: str) -> None:
        done = int(text.split()[0])
        left = human_seconds((time.monotonic() - began) / done * (kills - done))
        print(f"killed {text}; about {left} left", file=sys.stderr, flush=True)

    return killed(kills, int.from_bytes(os.urandom(4), "big"), say)


def table(found: Killed) -> list[str]:
    each = ", ".join(f"{whom} {count}" for whom, count in sorted(found.kills.items()))
    lines = [f"kill -9 at {sum(found.kills.values())} random moments (seed {found.seed}): {each}"]
    lines.append(f"  {found.entries} entries in the journal, in {human_seconds(found.seconds)}; ends: {found.ends}")
    return lines + [f"  {wrong}" for wrong in found.wrong]


def goals(found: Killed) -> list[Goal]:
    kept = "no entry is lost, and no split is one that the journal doesn't have"
    ended = found.ends == {GOOD: "done", BAD: "rolled-back"}
    return [
        {"goal": f"killed: {kept}", "seen": f"{len(found.wrong)} faults", "holds": not found.wrong},
        {"goal": "killed: each rollout ends where it should", "seen": str(found.ends), "holds": ended},
    ]
