"""How a new worker version of a stage comes to serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sluiceway.planning.pick import pick
from sluiceway.settings.release import ReleaseSettings

STEPS: Final = (1, 10, 50, 100)
_HOLD: Final = 600
_MARGIN: Final = 0.02


@dataclass(frozen=True)
class ReleasePlan:
    """``ramped``: `up` uploads only. ``steps`` in percent, ``hold_s`` and ``latency_s`` in seconds."""

    ramped: bool
    steps: tuple[int, ...]
    hold_s: int
    margin: float
    latency_s: float | None


def release(stated: ReleaseSettings) -> ReleasePlan:
    """Without a ramp the steps are the usual ones, for a version that something else has uploaded."""
    return ReleasePlan(
        ramped=stated.ramp is not None,
        steps=pick(stated.ramp, STEPS),
        hold_s=pick(stated.hold, _HOLD),
        margin=pick(stated.margin, _MARGIN),
        latency_s=stated.latency,
    )
