"""The last seconds of traffic in figures: rates, percentiles, errors, cost, by model version and variant."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sluiceway.observe.events import Event, Failure, Request


@dataclass(frozen=True)
class Figures:
    """What a group of requests comes to. Milliseconds; None where nothing was measured; shares from 0 to 1."""

    name: str
    variant: str
    requests: int
    per_second: float
    failed: int
    refused: int
    left: int
    ttft_p50: float | None
    ttft_p90: float | None
    total_p50: float | None
    total_p90: float | None
    tokens_per_second: float
    cost_usd: float
    cache_share: float | None
    fallbacks: int
    retries: int
    degraded: int


@dataclass(frozen=True)
class Snapshot:
    """One look: ``seconds`` is what the rates are taken over. ``rows`` by model version and variant, busiest first."""

    at: float
    seconds: float
    total: Figures
    rows: tuple[Figures, ...]
    errors: tuple[tuple[str, int], ...]
    failures: tuple[Failure, ...]


class Window:
    """Keeps the requests of the last ``seconds``. ``clock`` gives seconds since the epoch.

    ``since``: from when on the source tells everything; None: it told of the past too.
    """

    def __init__(self, seconds: float, clock: Callable[[], float], *, since: float | None = None) -> None:
        self._seconds = seconds
        self._clock = clock
        self._since = since
        self._requests: deque[Request] = deque()
        self._failures: deque[Failure] = deque(maxlen=100)

    def add(self, event: Event) -> None:
        if isinstance(event, Failure):
            self._failures.append(event)
        elif event.measured:
            self._requests.append(event)

    def snapshot(self) -> Snapshot:
        now = self._clock()
        begin = now - self._seconds
        self._forget(begin)
        seconds = self._seconds if self._since is None else min(self._seconds, max(1.0, now - self._since))
        found = [request for request in self._requests if request.at >= begin]
        groups: dict[tuple[str, str], list[Request]] = {}
        for request in found:
            groups.setdefault((request.model or "no model", request.variant or ""), []).append(request)
        rows = [_figures(name, variant, group, seconds) for (name, variant), group in groups.items()]
        rows.sort(key=lambda row: (-row.requests, row.name, row.variant))
        errors = Counter(request.error for request in found if request.error and not request.left)
        return Snapshot(
            at=now,
            seconds=seconds,
            total=_figures("all", "", found, seconds),
            rows=tuple(rows),
            errors=tuple((code, count) for code, count in errors.most_common(6) if code),
            failures=tuple(failure for failure in self._failures if failure.at >= begin),
        )

    def _forget(self, begin: float) -> None:
        # Events come nearly in order; a late one behind a newer is left out of the figures by its time.
        while self._requests and self._requests[0].at < begin:
            self._requests.popleft()


def _figures(name: str, variant: str, group: Sequence[Request], seconds: float) -> Figures:
    # What is refused at the door takes no time, and would make a slow model look fast.
    answered = [request for request in group if not request.refused]
    ttft = sorted(request.ttft_ms for request in answered if request.ttft_ms is not None)
    total = sorted(request.total_ms for request in answered)
    asked = [request for request in group if request.cache in ("hit", "semantic", "miss")]
    return Figures(
        name=name,
        variant=variant,
        requests=len(group),
        per_second=len(group) / seconds,
        failed=sum(request.failed for request in group),
        refused=sum(request.refused for request in group),
        left=sum(request.left for request in group),
        ttft_p50=percentile(ttft, 0.5),
        ttft_p90=percentile(ttft, 0.9),
        total_p50=percentile(total, 0.5),
        total_p90=percentile(total, 0.9),
        tokens_per_second=sum(request.tokens for request in group) / seconds,
        cost_usd=sum(request.cost_usd for request in group),
        cache_share=sum(request.cache != "miss" for request in asked) / len(asked) if asked else None,
        fallbacks=sum(request.fallback is not None for request in group),
        retries=sum(request.retries for request in group),
        degraded=sum(bool(request.line.get("degraded")) for request in group),
    )


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value that ``share`` of ``ordered`` (rising) do not exceed, by nearest rank; None of nothing."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
