"""How fast models are and how much memory they take, each in a process of its own, in an order that turns."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.validate.encode import Feeds
from sluiceway.pipeline.validate.report import Speed

_CHILD = "sluiceway.pipeline.validate.speed_child"
_PATIENCE = 1800.0


def measure(models: Sequence[Path], feeds: Sequence[Feeds], rounds: int, runs: int) -> list[Speed]:
    """The speed of each of ``models`` over ``feeds`` (one row each), ``runs`` runs in each of ``rounds`` rounds.

    A round asks all models, one after the other, and begins with another one each time: a machine that slows down
    while we look slows all of them. Raises SluicewayError when a process ends badly.
    """
    told: list[list[dict[str, Any]]] = [[] for _ in models]
    rows = [{name: value.tolist() for name, value in feed.items()} for feed in feeds]
    for number in range(rounds):
        for place in turned(len(models), number):
            told[place].append(_ask(models[place], rows, runs))
    return [merged(answers) for answers in told]


def turned(count: int, by: int) -> list[int]:
    """0, 1, ... count - 1, begun ``by`` places later."""
    return [(place + by) % count for place in range(count)]


def merged(answers: Sequence[dict[str, Any]]) -> Speed:
    """One Speed of what the process of each round told: times pooled, the processor's seconds summed."""
    times = np.concatenate([answer["times_ms"] for answer in answers])
    p50, p90, p99 = (float(value) for value in np.percentile(times, [50, 90, 99]))
    return Speed(
        tokens_per_second=_rate(answers, "tokens", "seconds") or 0.0,
        p50_ms=p50,
        p90_ms=p90,
        p99_ms=p99,
        runs=len(times),
        decode_tokens_per_second=_rate(answers, "decoded", "decode_seconds"),
        loaded_mb=_most(answers, "loaded_mb"),
        peak_mb=_most(answers, "peak_mb"),
    )


def _rate(answers: Sequence[dict[str, Any]], count: str, seconds: str) -> float | None:
    spent = sum(answer[seconds] for answer in answers)
    return float(sum(answer[count] for answer in answers) / spent) if spent else None


def _most(answers: Sequence[dict[str, Any]], key: str) -> float | None:
    found = [float(answer[key]) for answer in answers if answer[key] is not None]
    return max(found) if found else None


def _ask(model: Path, rows: Sequence[dict[str, Any]], runs: int) -> dict[str, Any]:
    asked = json.dumps({"model": str(model), "rows": rows, "runs": runs})
    command = [sys.executable, "-m", _CHILD]
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        hint = f"{_PATIENCE:.0f} s were not enough; ask for fewer rows"
        raise SluicewayError("the measurement of speed doesn't end", path=str(model), hint=hint) from None
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        raise SluicewayError(f"the measurement of speed failed: {said[0]}", path=str(model))
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
