"""Writes ``cost.json``: what the Python and the TypeScript side must both answer.

    python tests/contract/make_cost.py

The expected nanodollars are computed here from the definition in exact fractions, apart from ``sluiceway.cost``, so
that the file can contradict either side. Exact halves are left out: a double may fall to either side of them.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

FILE = Path(__file__).with_name("cost.json")
Amounts = dict[str, float | None]

PRICES: list[Amounts] = [
    {"input": 1.0, "cached": 0.5, "output": 10.0},
    {"input": 0.95, "cached": 0.16, "output": 4.0},
    {"input": 0.06, "cached": None, "output": 0.4},
    {"input": 1.4, "cached": 0.26, "output": 4.4},
    {"input": 0.012, "cached": None, "output": 0.0},
    {"input": 0.0, "cached": None, "output": 0.0},
    {"input": 0.5, "cached": 2.0, "output": 1.0},
    {"input": 0.0375, "cached": 0.0, "output": 0.15},
    {"input": 15.0, "cached": 1.5, "output": 75.0},
]
TOKENS = [
    (2006, 1920, 300),
    (2006, 0, 300),
    (2006, 2006, 300),
    (100, 250, 10),
    (0, 0, 0),
    (1, 0, 0),
    (0, 0, 1),
    (7, 0, 3),
    (262_144, 131_072, 32_768),
    (999_999_999, 0, 1_000_000),
]


def exact(price: Amounts, prompt: int, cached: int, completion: int) -> Fraction:
    """Nanodollars: what the prefix cache held at its own price, the rest of the prompt and the answer at theirs."""
    each = {name: Fraction(str(0 if amount is None else amount)) * 1_000 for name, amount in price.items()}
    spared = min(cached, prompt)
    spared_price = each["input"] if price["cached"] is None else each["cached"]
    return (prompt - spared) * each["input"] + spared * spared_price + completion * each["output"]


def rounded(amount: Fraction) -> int:
    return int(amount + Fraction(1, 2))


def document() -> str:
    cases = [(price, tokens) for price in PRICES for tokens in TOKENS]
    chance = random.Random(4)
    for _ in range(200):
        places = chance.randint(1, 4)
        price: Amounts = {
            "input": round(chance.uniform(0, 20), places),
            "cached": chance.choice([None, round(chance.uniform(0, 5), places)]),
            "output": round(chance.uniform(0, 80), places),
        }
        prompt = chance.randint(0, 300_000)
        cases.append((price, (prompt, chance.randint(0, prompt), chance.randint(0, 40_000))))
    lines = []
    for price, (prompt, cached, completion) in cases:
        cost = exact(price, prompt, cached, completion)
        worst = max(exact(price, prompt, share, completion) for share in (0, prompt))
        if Fraction(1, 2) in (cost % 1, worst % 1):
            continue
        told = {"price": price, "prompt": prompt, "cached": cached, "completion": completion}
        lines.append(json.dumps({**told, "nanos": rounded(cost), "worst": rounded(worst)}))
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
