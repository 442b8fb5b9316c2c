"""Who gets which version: a split of traffic in percent, and the point at which a user stands.

A point depends on the model and the user alone, so a user stays where they are while weights move.
Raising a candidate's weight takes users from stable only, where a region holds what its two candidates own.
The Worker computes the same in TypeScript; ``tests/contract/split.json`` holds both to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final

from sluiceway.domain.fault import Fault

POINTS: Final = 10_000
"""A point is a whole number in [0, POINTS): a hundred points are one percent."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Variant(StrEnum):
    """One arm of live traffic."""

    STABLE = "stable"
    CANDIDATE = "candidate"


@dataclass(frozen=True)
class Split:
    """Weights in whole percent by version number, the stable version first; they sum to 100."""

    weights: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not self.weights:
            raise Fault("a split names at least one version", hint="give its stable version the weight 100")
        seen: set[int] = set()
        for version, weight in self.weights:
            if version in seen:
                raise Fault("a version stands once in a split", got=version, hint="add its weights up in one entry")
            if not 0 <= weight <= 100:
                hint = f"write {min(max(weight, 0), 100)}, and let the weights sum to 100"
                raise Fault("a weight is a whole number of percent from 0 to 100", got=weight, hint=hint)
            seen.add(version)
        total = sum(weight for _, weight in self.weights)
        if total != 100:
            hint = f"raise one by {100 - total}" if total < 100 else f"lower them by {total - 100} in all"
            raise Fault("weights must sum to 100", got=total, hint=hint)

    @property
    def stable(self) -> int:
        return self.weights[0][0]

    @property
    def versions(self) -> tuple[int, ...]:
        return tuple(version for version, _ in self.weights)

    def variant(self, version: int) -> Variant:
        return Variant.STABLE if version == self.stable else Variant.CANDIDATE


def point(model: str, user: str) -> int:
    """Where ``user`` stands for ``model``: evenly spread over [0, POINTS), and fixed for good."""
    # A lone surrogate has no UTF-8; browsers and Workers encode it as U+FFFD, and so must this.
    text = _LONE_SURROGATE.sub("\ufffd", f"{model}\n{user}")
    head = int.from_bytes(sha256(text.encode()).digest()[:6], "big")
    return head * POINTS // 2**48


def choose(split: Split, at: int) -> int:
    """The version that serves the point ``at``.

    Two candidates share a region, the first from its lower end up and the second from its upper end down, so that
    neither pushes the other when it grows. What a region doesn't hold lies on the lowest points that are still free;
    stable has the rest.
    """
    for version, start, end in _territories(split):
        if start <= at < end:
            return version
    return split.stable


def _territories(split: Split) -> list[tuple[int, int, int]]:
    """Version, first point and the point after the last, of each stretch that a candidate owns."""
    regions = len(split.weights) // 2
    owned: list[tuple[int, int, int]] = []
    missing: list[tuple[int, int]] = []
    for number, (version, weight) in enumerate(split.weights[1:]):
        low, high = (place * POINTS // regions for place in (number // 2, number // 2 + 1))
        wanted = weight * POINTS // 100
        if number % 2 == 0:
            start, end = low, min(low + wanted, high)
        else:
            start, end = max(high - wanted, owned[-1][2]), high
        owned.append((version, start, end))
        missing.append((version, wanted - (end - start)))
    for version, wanted in missing:
        owned += _lowest_free(owned, version, wanted)
    return owned


def _lowest_free(owned: list[tuple[int, int, int]], version: int, wanted: int) -> list[tuple[int, int, int]]:
    """The lowest ``wanted`` points that nobody owns, as stretches of ``version``."""
    found: list[tuple[int, int, int]] = []
    free = 0
    for _, start, end in [*sorted(owned, key=lambda one: one[1:]), (version, POINTS, POINTS)]:
        taken = min(max(0, start - free), wanted)
        if taken > 0:
            found.append((version, free, free + taken))
            wanted -= taken
        free = max(free, end)
    return found
