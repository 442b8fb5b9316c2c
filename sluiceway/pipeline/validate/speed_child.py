"""The process that one model's speed and memory are taken in: a job on stdin, its figures on stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from sluiceway.pipeline.validate.answers import OnnxModel

WARM = 3
DECODED = 16


def main() -> None:
    job = json.loads(sys.stdin.read())
    json.dump(run(job, time.perf_counter, time.process_time), sys.stdout)


def run(job: dict[str, Any], clock: Callable[[], float], processor: Callable[[], float]) -> dict[str, Any]:
    """``clock`` and ``processor`` give seconds: of the wall, and of this process."""
    model = OnnxModel(Path(job["model"]))
    rows = [{name: np.array(value) for name, value in row.items()} for row in job["rows"]]
    loaded = memory_mb("VmRSS")
    for row in islice(cycle(rows), WARM):
        model.answer(row)
    times, tokens, before = [], 0, processor()
    for row in islice(cycle(rows), job["runs"]):
        made = model.feeds(row)
        started = clock()
        model.run(made)
        times.append((clock() - started) * 1000)
        tokens += next(iter(row.values())).shape[1] if "input_ids" in row else 1
    seconds = processor() - before
    steps, decode_seconds = _decode(model, rows[0], clock, processor) if model.cached else ([], 0.0)
    return {
        "times_ms": steps or times,
        "tokens": tokens,
        "seconds": seconds,
        "decoded": len(steps),
        "decode_seconds": decode_seconds,
        "loaded_mb": loaded,
        "peak_mb": memory_mb("VmHWM"),
    }


def _decode(
    model: OnnxModel, row: dict[str, Any], clock: Callable[[], float], processor: Callable[[], float]
) -> tuple[list[float], float]:
    """Milliseconds of each new token after ``row``, with the cache handed on, and the processor's seconds in all."""
    answer = model.answer(row)
    mask, times, before = row["attention_mask"], [], processor()
    for _ in range(DECODED):
        new = answer["logits"][:, -1:].argmax(axis=-1)
        mask = np.concatenate([mask, np.ones_like(new)], axis=1)
        started = clock()
        answer = model.answer({"input_ids": new, "attention_mask": mask}, model.cache_of(answer))
        times.append((clock() - started) * 1000)
    return times, processor() - before


def memory_mb(key: str, status: Path = Path("/proc/self/status")) -> float | None:
    """A line of the kernel's on this process in 10^6 bytes; what a parent is told of its child includes itself."""
    if not status.is_file():
        return None
    found = [
        line.split()[1] for line in status.read_text("ascii", errors="replace").splitlines() if line.startswith(key)
    ]
    return int(found[0]) * 1024 / 1e6 if found else None


if __name__ == "__main__":
    main()
