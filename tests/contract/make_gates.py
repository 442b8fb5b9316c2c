"""Writes ``gates.json``: bets and states that ``worker/src/gates`` must come to.

    python tests/contract/make_gates.py

Computed by ``gates.py``, which is apart from the Worker's code; what the bets there are worth, ``test_gates.py`` shows.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from math import log
from pathlib import Path

from tests.contract.gates import Block, Gate, Settings, factor

FILE = Path(__file__).with_name("gates.json")

SHAPES = ((1, 1), (9, 1), (10, 10), (99, 1), (40, 10), (19, 1), (3, 30))
MARGINS = (0.0, 0.02, 0.05)
RATES = ((0.01, 0.2), (0.04, 0.04), (0.01, 0.01), (0.3, 0.6), (0.5, 0.05), (0.002, 0.9))

PLAIN = Settings()
FIVE = Settings(gates=5, margin=0.05)
STRICT = Settings(margin=0.0, alpha=0.05, beta=0.1, minFail=20, minBad=5, minPass=80, absolute=0.5)
#: Requests in a batch, how often; candidate's share; how often stable's and candidate's requests are bad.
Phase = tuple[int, int, float, float, float]
RUNS: list[tuple[str, Settings, list[Phase]]] = [
    ("no traffic", PLAIN, []),
    ("healthy", PLAIN, [(40, 12, 0.1, 0.01, 0.01), (10, 60, 0.5, 0.01, 0.01)]),
    ("a fifth is bad", PLAIN, [(20, 40, 0.1, 0.01, 0.2)]),
    ("all is bad, of five gates", FIVE, [(20, 15, 0.1, 0.01, 1.0)]),
    ("both arms fail, and recover", PLAIN, [(30, 20, 0.3, 0.6, 0.6), (50, 20, 0.3, 0.01, 0.01)]),
    ("stable alone fails", PLAIN, [(30, 8, 0.3, 0.7, 0.02)]),
    ("worse within a fault of both", PLAIN, [(30, 20, 0.5, 0.3, 0.3), (30, 20, 0.5, 0.3, 0.9)]),
    ("breaks late", PLAIN, [(50, 60, 0.5, 0.02, 0.02), (20, 40, 0.5, 0.02, 0.5)]),
    ("candidate alone has traffic", PLAIN, [(1, 14, 1.0, 0.0, 0.0), (1, 20, 1.0, 0.0, 1.0)]),
    ("better than stable, then worse", PLAIN, [(50, 40, 0.5, 0.3, 0.1), (50, 60, 0.5, 0.1, 0.3)]),
    ("large batches", FIVE, [(400, 20, 0.5, 0.03, 0.04), (400, 10, 0.5, 0.03, 0.12)]),
    ("other settings", STRICT, [(40, 40, 0.5, 0.2, 0.3)]),
]


def batches(seed: int, phase: Phase) -> list[Block]:
    requests, count, share, stable, candidate = phase
    drawn, found = random.Random(seed), []
    for _ in range(count):
        own = [drawn.random() < share for _ in range(requests)]
        bad = [drawn.random() < (candidate if is_own else stable) for is_own in own]
        mc, yc = sum(own), sum(is_bad for is_own, is_bad in zip(own, bad, strict=True) if is_own)
        found.append((requests - mc, sum(bad) - yc, mc, yc))
    return found


def state(gate: Gate, after: int) -> dict[str, object]:
    verdict, reason = gate.judge()
    return {
        "after": after,
        "fail": gate.fail,
        "pass": gate.passing,
        "alarms": gate.alarms,
        "verdict": verdict,
        "reason": reason,
        "difference": gate.difference(),
    }


def run(seed: int, name: str, settings: Settings, phases: list[Phase]) -> dict[str, object]:
    """A step begins with each phase; ``steps`` has after how many batches."""
    gate = Gate(settings)
    given: list[Block] = []
    states, steps = [state(gate, 0)], []
    for at, phase in enumerate(phases):
        if at:
            gate.restep()
            steps.append(len(given))
        for batch in batches(100 * seed + at, phase):
            gate.observe(batch)
            given.append(batch)
            if len(given) % 5 == 0 or gate.judge()[0] != states[-1]["verdict"]:
                states.append(state(gate, len(given)))
    return {"name": name, "settings": asdict(settings), "batches": given, "steps": steps, "states": states}


def bets() -> list[dict[str, object]]:
    drawn, found = random.Random(1), []
    for ms, mc in SHAPES:
        for margin in (*MARGINS, -0.03):
            for ts, tc in RATES:
                block = (ms, drawn.randint(0, ms), mc, drawn.randint(0, mc))
                sides = [log(factor(ts, tc, block, margin, "fail")), log(factor(ts, tc, block, margin, "pass"))]
                found.append({"rates": [ts, tc], "block": block, "margin": margin, "log": sum(sides)})
    return found


def document() -> str:
    parts = {"bets": bets(), "runs": [run(seed, *each) for seed, each in enumerate(RUNS)]}
    lines = [f'"{name}": [\n' + ",\n".join(json.dumps(each) for each in part) + "\n]" for name, part in parts.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
    print(f"wrote {FILE.name}")
