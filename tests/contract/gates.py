"""The statistics of a gate once more, from their definition and apart from ``worker/src/gates``.

Probabilities are multiplied here where the Worker adds logarithms, and the null's nearest point is found as the root of
the likelihood's slope; so that a mistake in one of them is not also in the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import comb, exp, floor, fsum, inf, log
from typing import Literal

Side = Literal["fail", "pass"]
Four = tuple[float, float, float, float]
Block = tuple[int, int, int, int]
NONE: Four = (0, 0, 0, 0)
HALF_LIVES = (inf, 400.0, 50.0)
ALARM = log(100)
_SIZES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.7)
EDGES = [*(-size for size in reversed(_SIZES)), 0.0, *_SIZES]


def rates(past: Four) -> tuple[float, float]:
    """Both arms' rates of bad requests as a bet assumes them: stable's, candidate's."""
    return (past[1] + 0.5) / (past[0] + 12.5), (past[3] + 0.5) / (past[2] + 12.5)


@lru_cache(maxsize=64)
def nearest(ts: float, tc: float, ms: int, mc: int, margin: float) -> float:
    """Stable's rate where the line ``candidate = stable + margin`` makes such requests likeliest."""

    def slope(p: float) -> float:
        q = p + margin
        return ms * (ts / p - (1 - ts) / (1 - p)) + mc * (tc / q - (1 - tc) / (1 - q))

    low, high = max(1e-9, 1e-9 - margin), min(1 - 1e-9, 1 - margin - 1e-9)
    if slope(low) <= 0:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


def factor(ts: float, tc: float, block: Block, margin: float, side: Side) -> float:
    """What a bet of 1 against the null becomes by this block. 1 where no bet is placed."""
    ms, ys, mc, yc = block
    if (tc <= ts + margin) if side == "fail" else (tc >= ts + margin):
        return 1.0
    p = nearest(ts, tc, ms, mc, margin)
    q = p + margin
    stable = (ts / p) ** ys * ((1 - ts) / (1 - p)) ** (ms - ys)
    won: float = stable * (tc / q) ** yc * ((1 - tc) / (1 - q)) ** (mc - yc)
    return 0.1 + 0.9 * won if mc > 25 else won


def factors(ts: float, tc: float, shape: tuple[int, int], margin: float, side: Side) -> list[list[float]]:
    """``factor`` for each outcome of a block: by stable's bad requests, then by candidate's."""
    ms, mc = shape
    return [[factor(ts, tc, (ms, ys, mc, yc), margin, side) for yc in range(mc + 1)] for ys in range(ms + 1)]


def mean(table: list[list[float]], true: tuple[float, float]) -> float:
    """What ``factors`` come to on average, for the true rates of stable and candidate."""
    stable, candidate = _binomial(len(table) - 1, true[0]), _binomial(len(table[0]) - 1, true[1])
    return fsum(
        left * right * each
        for left, row in zip(stable, table, strict=True)
        for right, each in zip(candidate, row, strict=True)
    )


def _binomial(count: int, rate: float) -> list[float]:
    return [comb(count, bad) * rate**bad * (1 - rate) ** (count - bad) for bad in range(count + 1)]


@dataclass(frozen=True)
class Settings:
    margin: float = 0.02
    alpha: float = 0.01
    gates: int = 1
    beta: float = 0.05
    minFail: int = 10
    minBad: int = 3
    minPass: int = 50
    absolute: float = 0.2


@dataclass
class Gate:
    """One gate of one rollout. Wealth is kept as its logarithm, for long runs."""

    settings: Settings
    memories: list[Four] = field(default_factory=lambda: [NONE] * 3)
    fail: list[float] = field(default_factory=lambda: [0.0] * 3)
    step: Four = NONE
    passing: float = 0.0
    pending: Block = (0, 0, 0, 0)
    platform: bool = False
    total: Four = NONE
    alarms: list[float] = field(default_factory=lambda: [0.0, 0.0])
    failed: bool = False
    above: dict[float, float] = field(default_factory=lambda: dict.fromkeys(EDGES, 0.0))
    below: dict[float, float] = field(default_factory=lambda: dict.fromkeys(EDGES, 0.0))

    def observe(self, batch: Block) -> None:
        if self.pending == (0, 0, 0, 0):
            self.platform = min(self.alarms) >= ALARM
        ms, ys, mc, yc = batch
        self.pending = (self.pending[0] + ms, self.pending[1] + ys, self.pending[2] + mc, self.pending[3] + yc)
        self.alarms = [self._alarm(self.alarms[0], ms, ys), self._alarm(self.alarms[1], mc, yc)]
        if self.pending[0] >= 1 and self.pending[2] >= 1:
            self._settle(self.pending)
            self.pending = (0, 0, 0, 0)
        if not self.failed and self._fails():
            self.failed = True
            self.above = {edge: wealth for edge, wealth in self.above.items() if edge > self.settings.margin}
            if not self._is_open():
                self.below = dict.fromkeys(EDGES, 0.0)

    def restep(self) -> None:
        """What waits for the other arm is of the step before: counted, and in no block of the next one."""
        self.step, self.passing = NONE, 0.0
        ms, ys, mc, yc = (left + right for left, right in zip(self.total, self.pending, strict=True))
        self.total, self.pending = (ms, ys, mc, yc), (0, 0, 0, 0)

    def evidence(self) -> float:
        top = max(self.fail)
        return top + log(sum(exp(wealth - top) for wealth in self.fail) / 3)

    def judge(self) -> tuple[str, str | None]:
        """Verdict and reason."""
        stable, candidate = (level >= ALARM for level in self.alarms)
        if self.failed:
            return "fail", None
        for holds, reason in (
            (stable and candidate, "platform"),
            (stable, "stable-degraded"),
            (candidate, "suspect"),
            (self.pending[2] >= self.settings.minFail and self.pending[0] == 0, "no-control"),
        ):
            if holds:
                return "inconclusive", reason
        enough = self.step[2] >= self.settings.minPass and self.passing >= log(1 / self.settings.beta)
        return ("pass", None) if enough and max(self.fail) <= log(3) else ("inconclusive", "inconclusive")

    def difference(self) -> tuple[float, float] | None:
        if not (self.total[0] and self.total[2]):
            return None
        low = max((edge for edge in EDGES if edge not in self.above), default=-1.0)
        return low, min((edge for edge in EDGES if edge not in self.below), default=1.0)

    def _alarm(self, level: float, requests: int, bad: int) -> float:
        limit = self.settings.absolute
        worse = min(0.95, 1.5 * limit)
        moved = level + bad * log(worse / limit) + (requests - bad) * log((1 - worse) / (1 - limit))
        return min(max(moved, 0.0), 2 * ALARM)

    def _settle(self, block: Block) -> None:
        margin = self.settings.margin
        allowed = max(margin, 0.25) if self.platform else margin
        self.fail = [
            wealth + log(factor(*rates(past), block, allowed, "fail"))
            for wealth, past in zip(self.fail, self.memories, strict=True)
        ]
        if not self.platform:
            self.passing += log(factor(*rates(self.step), block, margin, "pass"))
        self._narrow(block)
        kept = [0.5 ** (block[2] / half_life) for half_life in HALF_LIVES]
        self.memories = [_sum(past, block, share) for past, share in zip(self.memories, kept, strict=True)]
        self.step, self.total = _sum(self.step, block), _sum(self.total, block)

    def _narrow(self, block: Block) -> None:
        """The interval's ends move over an edge, from outside to inside, when what is beyond it is refuted at 5 %."""
        ts, tc = rates(self.memories[1])
        sides: tuple[tuple[dict[float, float], Side], ...] = ((self.above, "fail"), (self.below, "pass"))
        for open_edges, side in sides:
            for edge in open_edges:
                won = log(factor(ts, tc, block, edge, side))
                open_edges[edge] += floor(won * 1e5) / 1e5
            for edge in sorted(open_edges, reverse=side == "pass"):
                if open_edges[edge] < log(20):
                    break
                del open_edges[edge]
        if not self._is_open():
            self.above, self.below = dict.fromkeys(EDGES, 0.0), dict.fromkeys(EDGES, 0.0)

    def _is_open(self) -> bool:
        return len(self.above) + len(self.below) >= len(EDGES)

    def _fails(self) -> bool:
        settings = self.settings
        seen = self.total[2] >= settings.minFail and self.total[3] >= settings.minBad
        return seen and self.evidence() >= log(settings.gates / settings.alpha)


def _sum(past: Four, block: Block, share: float = 1.0) -> Four:
    ms, ys, mc, yc = (before * share + now for before, now in zip(past, block, strict=True))
    return ms, ys, mc, yc
