"""Writes ``golden.json``: states and verdicts of the test on pairs that the Python and the TypeScript side must reach.

    python tests/contract/make_golden.py

The expected numbers are computed here from the definition with 24 digits, apart from ``sluiceway.golden``, so that
the file can contradict either side. A state is asked for after each count in ``after``.
"""

from __future__ import annotations

import json
import random
from decimal import Decimal, getcontext
from pathlib import Path

FILE = Path(__file__).with_name("golden.json")
getcontext().prec = 24
ONE = Decimal(1)
Settings = dict[str, float]

PLAIN: Settings = {"margin": 0.05, "alpha": 0.01, "beta": 0.05}


def normal(seed: int, mean: float, sd: float, count: int) -> list[float]:
    drawn = random.Random(seed)
    return [round(min(1.0, max(-1.0, drawn.gauss(mean, sd))), 3) for _ in range(count)]


CASES: list[tuple[str, Settings, list[float], list[int]]] = [
    ("nothing yet", PLAIN, [], [0]),
    ("one pair alike", PLAIN, [0.0], [1]),
    ("the ends of the scale", PLAIN, [1.0, -1.0, 1.0, -1.0], [1, 2, 3, 4]),
    ("always much worse", PLAIN, [1.0] * 14, [9, 10, 11, 12, 13, 14]),
    ("always much better", PLAIN, [-1.0] * 12, [5, 6, 7, 8, 12]),
    ("always alike", PLAIN, [0.0] * 130, [50, 100, 110, 111, 112, 113, 114, 115, 130]),
    ("exactly at the margin", PLAIN, [0.05] * 40, [1, 40]),
    ("worse by 0.2", PLAIN, normal(1, 0.2, 0.25, 120), [1, 30, 60, 90, 120]),
    ("alike with noise", PLAIN, normal(2, 0.0, 0.1, 200), [1, 60, 120, 160, 200]),
    ("a fail stays one", PLAIN, [1.0] * 12 + [-1.0] * 30, [12, 20, 42]),
    ("no margin", {"margin": 0.0, "alpha": 0.05, "beta": 0.05}, normal(3, 0.1, 0.3, 80), [20, 80]),
    ("a wide margin", {"margin": 0.5, "alpha": 0.001, "beta": 0.01}, normal(4, 0.1, 0.4, 60), [10, 20, 30, 60]),
    ("yes or no", PLAIN, [float(at % 5 == 0) - float(at % 7 == 0) for at in range(70)], [35, 70]),
]


def bets(margin: Decimal) -> list[Decimal]:
    return [Decimal("0.95") / (ONE + margin) / Decimal(2) ** (Decimal(at) / 2) for at in range(10)]


def log_mean(logs: list[Decimal]) -> Decimal:
    return (sum((value.exp() for value in logs), Decimal(0)) / len(logs)).ln()


def share(evidence: Decimal, chance: Decimal) -> Decimal:
    return min(ONE, max(Decimal(0), evidence / (ONE / chance).ln()))


def states(settings: Settings, differences: list[float], after: list[int]) -> list[dict[str, object]]:
    margin, alpha, beta = (Decimal(repr(settings[name])) for name in ("margin", "alpha", "beta"))
    fail, passing, failed, found = [Decimal(0)] * 10, [Decimal(0)] * 10, False, []
    for count in range(len(differences) + 1):
        if count:
            over = Decimal(repr(differences[count - 1])) - margin
            fail = [wealth + (ONE + bet * over).ln() for wealth, bet in zip(fail, bets(margin), strict=True)]
            passing = [wealth + (ONE - bet * over).ln() for wealth, bet in zip(passing, bets(margin), strict=True)]
            failed = failed or log_mean(fail) >= (ONE / alpha).ln()
        if count in after:
            sure = share(log_mean(passing), beta)
            found.append(
                {
                    "after": count,
                    "fail": [float(value) for value in fail],
                    "pass": [float(value) for value in passing],
                    "failing": 1.0 if failed else float(share(log_mean(fail), alpha)),
                    "passing": float(sure),
                    "verdict": "fail" if failed else "pass" if sure >= 1 else "inconclusive",
                }
            )
    return found


def document() -> str:
    cases = [
        {"name": name, "settings": settings, "differences": given, "states": states(settings, given, after)}
        for name, settings, given, after in CASES
    ]
    return "[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
    print(f"wrote {FILE.name}")
