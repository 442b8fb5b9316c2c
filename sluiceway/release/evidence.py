"""Evidence that one arm's rate of bad requests is, or is not, above another's by more than a margin.

Two arms are compared block by block, so that both saw the same world; the product of the bets may be looked at after
every block. Written from the formulas alone, apart from the gateway's own (``worker/src/gates``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

HALF_LIVES: Final = (math.inf, 400.0, 50.0)
_PRIOR: Final = (0.5, 12.5)
_EDGE: Final = 1e-9
_BIG: Final = 25
_PLATFORM_MARGIN: Final = 0.25
_ALARM: Final = math.log(100)
_DOUBT: Final = math.log(3)


@dataclass(frozen=True)
class Limits:
    """``alpha``: chance of a false fail, of all ``gates`` together; ``beta``: of a false pass in a step."""

    margin: float
    alpha: float = 0.01
    beta: float = 0.05
    gates: int = 1
    min_fail: int = 10
    min_bad: int = 3
    min_pass: int = 50
    absolute: float = 0.2


@dataclass(frozen=True)
class Block:
    """Requests and bad ones of the old and the new version. ``counts``: admitted in the present step."""

    old: int
    old_bad: int
    new: int
    new_bad: int
    counts: bool = True


@dataclass(frozen=True)
class Weighed:
    """``word`` is pass, fail, platform, old-bad, suspect or inconclusive."""

    word: str
    old: int
    old_bad: int
    new: int
    new_bad: int


@dataclass
class _Memory:
    """Decayed counts of both arms."""

    old: float = 0.0
    old_bad: float = 0.0
    new: float = 0.0
    new_bad: float = 0.0

    def rates(self) -> tuple[float, float]:
        bad, all_ = _PRIOR
        return (self.old_bad + bad) / (self.old + all_), (self.new_bad + bad) / (self.new + all_)

    def add(self, block: Block, half_life: float) -> None:
        kept = 0.5 ** (block.new / half_life)
        self.old = self.old * kept + block.old
        self.old_bad = self.old_bad * kept + block.old_bad
        self.new = self.new * kept + block.new
        self.new_bad = self.new_bad * kept + block.new_bad


class _Alarm:
    """Says that an arm is bad by itself, until it is good again."""

    def __init__(self, absolute: float) -> None:
        bad = min(0.95, 1.5 * absolute)
        self._up, self._down = math.log(bad / absolute), math.log((1 - bad) / (1 - absolute))
        self._level = 0.0

    def add(self, requests: int, bad: int) -> None:
        moved = self._level + bad * self._up + (requests - bad) * self._down
        self._level = min(max(moved, 0.0), 2 * _ALARM)

    @property
    def on(self) -> bool:
        return self._level >= _ALARM


def weigh(blocks: Iterable[Block], limits: Limits) -> Weighed:
    """The verdict after the last of ``blocks``; a fail stays one. Each block has a request of both arms."""
    memories = [_Memory() for _ in HALF_LIVES]
    wealth = [0.0 for _ in HALF_LIVES]
    step, passing = _Memory(), 0.0
    old_alarm, new_alarm = _Alarm(limits.absolute), _Alarm(limits.absolute)
    totals = [0, 0, 0, 0]
    for block in blocks:
        platform = old_alarm.on and new_alarm.on
        margin = max(limits.margin, _PLATFORM_MARGIN) if platform else limits.margin
        for index, memory in enumerate(memories):
            wealth[index] += _bet(memory, block, margin, failing=True)
            memory.add(block, HALF_LIVES[index])
        if block.counts:
            passing += 0.0 if platform else _bet(step, block, limits.margin, failing=False)
            step.add(block, math.inf)
        old_alarm.add(block.old, block.old_bad)
        new_alarm.add(block.new, block.new_bad)
        totals = [a + b for a, b in zip(totals, (block.old, block.old_bad, block.new, block.new_bad), strict=True)]
        if _fails(wealth, totals, limits):
            return Weighed("fail", *totals)
    word = _alarmed(old_alarm.on, new_alarm.on)
    if word is None:
        word = "pass" if _passes(passing, step.new, wealth, limits) else "inconclusive"
    return Weighed(word, *totals)


def _fails(wealth: list[float], totals: list[int], limits: Limits) -> bool:
    top = max(wealth)
    mean = top + math.log(sum(math.exp(each - top) for each in wealth) / len(wealth))
    enough = totals[2] >= limits.min_fail and totals[3] >= limits.min_bad
    return enough and mean >= math.log(limits.gates / limits.alpha)


def _passes(passing: float, requests: float, wealth: list[float], limits: Limits) -> bool:
    return requests >= limits.min_pass and passing >= math.log(1 / limits.beta) and max(wealth) <= _DOUBT


def _alarmed(old: bool, new: bool) -> str | None:
    if old and new:
        return "platform"
    return "old-bad" if old else "suspect" if new else None


def _bet(memory: _Memory, block: Block, margin: float, *, failing: bool) -> float:
    """The logarithm of what one block's bet pays; 0 where no bet is placed."""
    old, new = memory.rates()
    if (new <= old + margin) if failing else (new >= old + margin):
        return 0.0
    null = _projected(old, new, block, margin)
    shifted = null + margin
    won = block.old_bad * math.log(old / null) + (block.old - block.old_bad) * math.log((1 - old) / (1 - null))
    won += block.new_bad * math.log(new / shifted)
    won += (block.new - block.new_bad) * math.log((1 - new) / (1 - shifted))
    if block.new <= _BIG:
        return won
    return won + math.log(0.9) if won > 600 else math.log(0.1 + 0.9 * math.exp(won))


def _projected(old: float, new: float, block: Block, margin: float) -> float:
    """The old arm's rate at the point of the null that is nearest to the estimates."""
    low, high = sorted((old, new - margin))
    low, high = max(low, _EDGE), min(high, 1 - margin - _EDGE)
    for _ in range(32):
        at = (low + high) / 2
        moved = at + margin
        slope = block.old * (at - old) / (at * (1 - at)) + block.new * (moved - new) / (moved * (1 - moved))
        low, high = (low, at) if slope > 0 else (at, high)
    return min(max((low + high) / 2, _EDGE), 1 - margin - _EDGE)
