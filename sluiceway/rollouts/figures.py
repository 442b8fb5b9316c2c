"""What the requests of a rollout took and cost, told by version. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluiceway.rollouts.views import Figures, RolloutView, VersionFigures


@dataclass(frozen=True)
class Latency:
    """Seconds that this share of ``requests`` stayed under, right within a fifth; None where there are none."""

    requests: int
    p50: float | None
    p90: float | None
    p99: float | None


@dataclass(frozen=True)
class Summary:
    """One version since the rollout began. ``cost_each``: US dollars a request, of those whose cost is known."""

    version: int
    requests: int
    first_token: Latency
    total: Latency
    cost_usd: float
    cost_each: float | None


def summaries(view: RolloutView) -> list[Summary]:
    """Stable first, then its candidates; only those that have answered something."""
    figures = view.figures
    if figures is None:
        return []
    return [_summary(version, figures.per_doubling) for version in ordered(view, figures)]


def ordered(view: RolloutView, figures: Figures) -> list[VersionFigures]:
    """Stable first, then the others by number."""
    return sorted(figures.versions, key=lambda found: (found.version != view.stable, found.version))


def bucket_s(place: float, per_doubling: int) -> float:
    """Where a bucket begins, in seconds."""
    return float(2 ** (place / per_doubling)) / 1000


def quantile_s(histogram: Sequence[int], share: float, per_doubling: int) -> float | None:
    """Seconds that ``share`` of the requests stayed under, by even spread in their bucket; None of none."""
    wanted = share * sum(histogram)
    below = 0.0
    for place, count in enumerate(histogram):
        if count and below + count >= wanted:
            return bucket_s(place + (wanted - below) / count, per_doubling)
        below += count
    return None


def _summary(found: VersionFigures, per_doubling: int) -> Summary:
    requests, usd = sum(count for count, _ in found.cost), sum(usd for _, usd in found.cost)
    return Summary(
        found.version,
        found.requests,
        _latency(found.first_token, per_doubling),
        _latency(found.total, per_doubling),
        round(usd, 9),
        round(usd / requests, 9) if requests else None,
    )


def _latency(histogram: Sequence[int], per_doubling: int) -> Latency:
    quantiles = (quantile_s(histogram, share, per_doubling) for share in (0.5, 0.9, 0.99))
    return Latency(sum(histogram), *(None if found is None else round(found, 4) for found in quantiles))


def seconds_text(seconds: float | None) -> str:
    """``340 ms``, ``2.1 s``, ``3.0 min``."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def usd_text(usd: float | None) -> str:
    """``$1.20``, ``$0.0031``: with as many digits as it takes."""
    if usd is None:
        return "-"
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.2g}" if usd >= 0.0001 else f"${usd:.1e}"
