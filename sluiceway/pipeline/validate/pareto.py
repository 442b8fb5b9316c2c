"""Which variants nothing beats: smaller, better and faster are three wishes, and a table of one column hides two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sluiceway.pipeline.validate.report import Report

QUALITY_OF = {"embed": ("cosine_min", True), "classify": ("top1", True), "chat": ("kl", False)}
"""The figure of quality that each task is drawn by, and whether more of it is better."""


@dataclass(frozen=True)
class Variant:
    """One way to build a model: ``size_mb`` in 10^6 bytes, ``quality`` (more is better), ``speed`` in tokens a second.

    ``quality`` is minus the KL divergence for chat models. ``speed`` is None where it wasn't taken.
    """

    name: str
    size_mb: float
    quality: float
    speed: float | None
    verdict: str = "pass"


def variant(name: str, report: Report) -> Variant:
    """The three figures of a report; speed is that of new tokens where there is a cache."""
    figure, more = QUALITY_OF[report.task]
    value = report.figures.get(figure, math.nan)
    speed = report.speed
    rate = (speed.decode_tokens_per_second or speed.tokens_per_second) if speed else None
    return Variant(name, report.figures["size_mb"], value if more else -value, rate, report.verdict)


def pareto(rows: Sequence[Variant]) -> tuple[Variant, ...]:
    """Those of ``rows`` that pass and that no other passing one beats, in their order.

    One beats another when it is no worse in size, quality and speed, and better in one of them. Speed counts where
    all have it. A quality that is no number beats nothing and is never among them.
    """
    sound = [row for row in rows if row.verdict == "pass" and not math.isnan(row.quality)]
    timed = all(row.speed is not None for row in sound)
    wishes = [(-row.size_mb, row.quality, (row.speed or 0.0) if timed else 0.0) for row in sound]
    return tuple(
        row for row, wish in zip(sound, wishes, strict=True) if not any(_beats(other, wish) for other in wishes)
    )


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))
