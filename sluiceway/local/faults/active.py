"""The faults that are on, and the choice of one for a call. In memory only: a restart is a healthy stage."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from sluiceway.local.faults.call import CallFault
from sluiceway.local.faults.fault import Backend, Fault
from sluiceway.local.faults.when import BadFaultError

_MOST = 200
_ENDED_KEPT = 50
F = TypeVar("F", bound=Fault | CallFault, covariant=True)
K = TypeVar("K", Fault, CallFault)


@dataclass
class Active(Generic[F]):
    """A fault with its number, its own chance, and how often it was considered and hit. Times in seconds."""

    number: int
    fault: F
    until: float | None
    chance: random.Random
    considered: int = 0
    hits: int = 0

    def ended(self, now: float) -> bool:
        spent = self.fault.count is not None and self.hits >= self.fault.count
        return spent or (self.until is not None and now >= self.until)

    def strikes(self) -> bool:
        """Whether the next call is hit: the same row of answers for the same seed, whatever else happens."""
        self.considered += 1
        hit = self.fault.share >= 1 or self.chance.random() < self.fault.share
        self.hits += hit
        return hit

    def as_json(self, now: float) -> dict[str, Any]:
        left = None if self.until is None else max(0.0, round(self.until - now, 1))
        return {
            "id": self.number,
            **self.fault.stated(),
            "considered": self.considered,
            "hits": self.hits,
            "seconds_left": left,
            "ended": self.ended(now),
        }


@dataclass
class Faults:
    """``clock``: seconds that only go up. Those that have ended stay listed until they are cleared.

    ``changed`` is told whenever some were added or cleared.
    """

    clock: Callable[[], float] = time.monotonic
    changed: Callable[[], Awaitable[None]] | None = None
    _active: list[Active[Fault | CallFault]] = field(default_factory=list, init=False)
    _last: int = field(default=0, init=False)

    def add(self, fault: Fault | CallFault) -> dict[str, Any]:
        """Puts it behind those that are there. Numbers begin at 1 again once all are cleared."""
        now = self.clock()
        self._forget(now)
        if len(self._active) >= _MOST:
            raise BadFaultError("fault", f"there are {_MOST} faults already", "sluiceway local faults clear")
        self._last += 1
        until = None if fault.seconds is None else now + fault.seconds
        # Two faults with the same share must not hit the same calls, so each has its number for a seed.
        chance = random.Random(self._last if fault.seed is None else fault.seed)
        added = Active(self._last, fault, until, chance)
        self._active.append(added)
        return added.as_json(now)

    def pick(self, model: str, backend: Backend, *, chat: bool, tools: bool) -> Active[Fault] | None:
        """The first that concerns a call of a model and strikes; None when the call is to go well."""
        return self._first(Fault, lambda fault: fault.concerns(model, backend, chat=chat, tools=tools))

    def pick_call(self, method: str, path: str) -> Active[CallFault] | None:
        """The same for a call of Cloudflare's API; ``path`` is below its base."""
        return self._first(CallFault, lambda fault: fault.concerns(method, path))

    def pick_s3(self, method: str, path: str) -> Active[CallFault] | None:
        """The same for R2's S3 API; ``path`` is ``/bucket/key``."""
        return self._first(CallFault, lambda fault: fault.concerns_s3(method, path))

    def _first(self, kind: type[K], concerns: Callable[[K], bool]) -> Active[K] | None:
        if not self._active:
            return None
        now = self.clock()
        for each in self._active:
            if isinstance(each.fault, kind) and not each.ended(now) and concerns(each.fault) and each.strikes():
                return cast(Active[K], each)
        return None

    @property
    def any_s3(self) -> bool:
        """Whether one may concern R2's S3 API, at whose door nobody asks otherwise."""
        return any(isinstance(each.fault, CallFault) and each.fault.of_s3 for each in self._active)

    async def tell(self) -> None:
        if self.changed:
            await self.changed()

    def as_json(self) -> list[dict[str, Any]]:
        now = self.clock()
        return [each.as_json(now) for each in self._active]

    def clear(self, number: int | None = None) -> int:
        """Takes one off, or all; how many that were."""
        before = len(self._active)
        self._active = [each for each in self._active if number is not None and each.number != number]
        if not self._active:
            self._last = 0
        return before - len(self._active)

    def _forget(self, now: float) -> None:
        over = [each.number for each in self._active if each.ended(now)][:-_ENDED_KEPT]
        self._active = [each for each in self._active if each.number not in over]
