"""Whether a candidate's answers are worse than stable's: a sequential test on pairs, right at every look.

Both versions answer the same prompt, and the pair's difference D = stable's score - candidate's, in [-1, 1], is a bet
placed against two claims at once, by ten bettors of rising caution each:

    fail   bets against "D is at most the margin on average":   ln(1 + bet * (D - margin))
    pass   bets against "D is at least the margin on average":  ln(1 + bet * (margin - D))

The bettors' mean wealth passes 1/alpha (1/beta) with at most that chance while the claim is true, however often one
looks and whenever one stops. A failed test stays failed. The Worker computes the same in ``worker/src/gates/pairs.ts``;
``tests/contract/golden.json`` holds both to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, fsum, log, log1p
from typing import Final, Literal

BETTORS: Final = 10
_BOLDEST: Final = 0.95
_BISECTIONS: Final = 40

Verdict = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True)
class PairSettings:
    """``margin``: how much worse the candidate may score, in [0, 1). ``alpha``: the chance of a false fail, ``beta``
    of a false pass."""

    margin: float = 0.05
    alpha: float = 0.01
    beta: float = 0.05


@dataclass(frozen=True)
class Pairs:
    """What is known after so many pairs: the bettors' log-wealth on either side, and whether it has come to a fail."""

    pairs: int = 0
    fail: tuple[float, ...] = (0.0,) * BETTORS
    passing: tuple[float, ...] = (0.0,) * BETTORS
    failed: bool = False


@dataclass(frozen=True)
class Judged:
    """``failing`` and ``passing``: the evidence as a share of what a verdict takes, from 0 to 1."""

    verdict: Verdict
    failing: float
    passing: float


def observe_pair(state: Pairs, difference: float, settings: PairSettings) -> Pairs:
    """The state after one more pair. ``difference``: stable's score less the candidate's, in [-1, 1]."""
    if not -1.0 <= difference <= 1.0:
        raise ValueError(f"a difference of scores lies between -1 and 1, not at {difference}")
    over = difference - settings.margin
    bets = _bets(settings.margin)
    fail = tuple(wealth + log1p(bet * over) for wealth, bet in zip(state.fail, bets, strict=True))
    passing = tuple(wealth + log1p(-bet * over) for wealth, bet in zip(state.passing, bets, strict=True))
    failed = state.failed or _log_mean(fail) >= log(1 / settings.alpha)
    return Pairs(state.pairs + 1, fail, passing, failed)


def judge_pairs(state: Pairs, settings: PairSettings) -> Judged:
    failing = _share(_log_mean(state.fail), settings.alpha)
    passing = _share(_log_mean(state.passing), settings.beta)
    verdict: Verdict = "fail" if state.failed else "pass" if passing >= 1 else "inconclusive"
    return Judged(verdict, 1.0 if state.failed else failing, passing)


def interval(differences: Iterable[float], chance: float) -> tuple[float, float] | None:
    """Where the average of D lies, whenever one looks; each end misses with at most ``chance``. None without a pair.

    An end is the margin at which the test above would just be decided: with ``chance`` = beta the upper end is below
    the margin exactly when the test says pass.
    """
    seen = tuple(differences)
    if not seen:
        return None
    mirrored = tuple(-each for each in seen)
    return _lower(seen, chance), -_lower(mirrored, chance)


def _lower(seen: tuple[float, ...], chance: float) -> float:
    """The highest average that D may be said to be above; wealth falls as the claim rises, so it can be bisected."""
    wanted = log(1 / chance)
    low, high = -1.0, max(-1.0, fsum(seen) / len(seen))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        won = [fsum(log1p(bet * (each - middle)) for each in seen) for bet in _bets(abs(middle))]
        low, high = (middle, high) if _log_mean(won) >= wanted else (low, middle)
    return low


def _bets(margin: float) -> tuple[float, ...]:
    """The shares of wealth that the bettors place; none can lose it all, whatever D is."""
    return tuple(_BOLDEST / (1 + margin) * 2 ** (-at / 2) for at in range(BETTORS))


def _log_mean(logs: Iterable[float]) -> float:
    """``ln(mean(e^x))``, without overflow."""
    values = tuple(logs)
    top = max(values)
    return top + log(fsum(exp(value - top) for value in values) / len(values))


def _share(evidence: float, chance: float) -> float:
    return min(1.0, max(0.0, evidence / log(1 / chance)))
