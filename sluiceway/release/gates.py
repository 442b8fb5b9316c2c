"""What says whether a new worker version is worse than the old one that serves beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Verdict = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True)
class Reading:
    """``reason`` is a sentence for people without its full stop; ``gate`` is the one that decided."""

    verdict: Verdict
    reason: str
    gate: str | None = None
    frozen: bool = False
    """Both versions fail alike: the fault is the platform's, and nothing moves."""


@dataclass(frozen=True)
class Window:
    """Which requests count. A pass is earned since ``step`` began, a failure since the ramp did."""

    ramp: datetime
    step: datetime


class WorkerGates(Protocol):
    """Gates by worker version."""

    @property
    def source(self) -> str:
        """Where the figures come from, for people."""
        ...

    def verdict(self, old: str, new: str, window: Window) -> Reading:
        """What the requests of worker version ``new`` say beside those of ``old``."""
        ...

    def end(self) -> None:
        """The ramp is over: nothing need be counted any longer."""
        ...
