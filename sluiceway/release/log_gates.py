"""Gates by worker version from what the stage tells of its requests: the feed that ``sluiceway top`` reads.

Two gates: ``errors``, and ``latency`` where a limit in seconds is set. The local stage's log is there from the
beginning, so a second run counts what the first one counted; a stage in the cloud tells only what comes from now on,
so there a second run earns its verdict anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sluiceway.observe.events import Event, Request
from sluiceway.release.evidence import Block, Limits, Weighed, weigh
from sluiceway.release.gates import Reading, Window

BLOCK_REQUESTS: Final = 50
BLOCK_SECONDS: Final = 5.0
_MOST_KEPT: Final = 400_000
_UNCACHED: Final = (None, "miss", "bypass")
_REASONS: Final = {
    "platform": "both versions fail alike, which no release explains",
    "old-bad": "the old version fails by itself",
    "suspect": "the new version fails, and too few requests of the old one say whether it is alone",
}


@dataclass(frozen=True)
class Seen:
    """One request of a worker version; ``admitted`` and ``ended`` in seconds since the epoch."""

    admitted: float
    ended: float
    version: str
    client: str
    failed: bool
    seconds: float


def seen(event: Event) -> Seen | None:
    """The request as gates count it: None for the owner's own calls, clients who left, and what a cache answered."""
    if not isinstance(event, Request) or not event.measured or event.left:
        return None
    version = event.line.get("worker_version")
    if not isinstance(version, str) or event.cache not in _UNCACHED:
        return None
    # An answer that another had to give, or the stage itself, is a failure of the version that was asked.
    failed = event.failed or event.fallback is not None or bool(event.line.get("degraded"))
    seconds = event.total_ms / 1000
    return Seen(event.at - seconds, event.at, version, str(event.line.get("key_id", "")), failed, seconds)


@dataclass
class LogGates:
    """``drain`` gives what has come since it was last called. ``margin`` is the excess rate that is borne.

    ``latency_s``: a request that takes longer is bad for the gate ``latency``; without it there is no such gate.
    """

    drain: Callable[[], Sequence[Event]]
    margin: float
    latency_s: float | None = None
    source: str = "the stage's log"
    _kept: list[Seen] = field(default_factory=list)

    def verdict(self, old: str, new: str, window: Window) -> Reading:
        self._kept += [request for event in self.drain() if (request := seen(event))]
        self._kept = self._kept[-_MOST_KEPT:]
        pair = [request for request in self._kept if request.version in (old, new)]
        gates = self._gates()
        weighed = {
            name: weigh(blocks(pair, new, window, bad), Limits(self.margin, gates=len(gates)))
            for name, bad in gates.items()
        }
        return reading(weighed)

    def end(self) -> None:
        """Nothing: what is in the log is there for others."""

    def _gates(self) -> dict[str, Callable[[Seen], bool]]:
        gates: dict[str, Callable[[Seen], bool]] = {"errors": lambda request: request.failed}
        if (limit := self.latency_s) is not None:
            gates["latency"] = lambda request: request.failed or request.seconds > limit
        return gates


def blocks(requests: Iterable[Seen], new: str, window: Window, bad: Callable[[Seen], bool]) -> Iterator[Block]:
    """Requests in the order of their end, cut into blocks in which a client counts once for each version.

    What was admitted before the ramp began counts nowhere. A block ends by its size or age, or as a client comes
    again; never by what is in it. A key that everybody shares is one client, since the log tells no more.
    """
    began, step = _seconds(window.ramp), _seconds(window.step)
    open_: dict[tuple[bool, str], bool] = {}
    first, counted = 0.0, False
    for request in requests:
        if request.admitted < began:
            continue
        counts, arm = request.admitted >= step, (request.version == new, request.client)
        if counts != counted:
            open_.clear()  # the weights changed in the middle of it
        whole = len({is_new for is_new, _ in open_}) == 2
        if whole and (arm in open_ or len(open_) >= BLOCK_REQUESTS or request.ended - first >= BLOCK_SECONDS):
            yield _block(open_, counted)
            open_.clear()
        counted = counts
        first = first if open_ else request.ended
        open_.setdefault(arm, bad(request))
    if len({is_new for is_new, _ in open_}) == 2:
        yield _block(open_, counted)


def _block(open_: dict[tuple[bool, str], bool], counts: bool) -> Block:
    old = [is_bad for (is_new, _), is_bad in open_.items() if not is_new]
    new = [is_bad for (is_new, _), is_bad in open_.items() if is_new]
    return Block(len(old), sum(old), len(new), sum(new), counts)


def reading(weighed: dict[str, Weighed]) -> Reading:
    """One verdict of all gates: the first that fails, else a pass when each passes."""
    for name, each in weighed.items():
        if each.word == "fail":
            return Reading("fail", f"{name} fail: {_figures(each)}", name)
    for name, each in weighed.items():
        if each.word in _REASONS:
            return Reading("inconclusive", f"{name}: {_REASONS[each.word]}", name, frozen=each.word == "platform")
    waiting = [(name, each) for name, each in weighed.items() if each.word != "pass"]
    if waiting:
        name, each = waiting[0]
        return Reading("inconclusive", f"{name} can't be told yet: {_figures(each)}", name)
    return Reading("pass", ", ".join(f"{name} pass: {_figures(each)}" for name, each in weighed.items()))


def _figures(each: Weighed) -> str:
    return (
        f"{each.new_bad} of {each.new} requests of the new version were bad, "
        f"and {each.old_bad} of {each.old} of the old one"
    )


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
