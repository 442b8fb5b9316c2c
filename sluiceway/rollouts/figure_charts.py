"""Charts of what a rollout's requests took and cost, as inline SVG in the manner of ``charts``. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from math import ceil, log2

from sluiceway.rollouts.charts import FOOT, HEIGHT, LEFT, TOP, WIDTH, svg, time_grid, x_at, y_at
from sluiceway.rollouts.figures import bucket_s, ordered, quantile_s, seconds_text, usd_text
from sluiceway.rollouts.views import Figures, Millis, RolloutView, VersionFigures

_TICKS_S = (0.001, 0.01, 0.1, 1, 10, 60, 600)
_LEAST_BUCKETS = 12


def latency_chart(
    view: RolloutView, figures: Figures, places: Mapping[int, int], what: str, slo_s: float | None
) -> str | None:
    """How long requests took, each version's share by bucket, on a line where ten times is always as wide.

    ``what``: ``first_token`` or ``total``. ``places``: each version's colour. None where no version has any.
    """
    shown = [(found, _histogram(found, what)) for found in ordered(view, figures) if any(_histogram(found, what))]
    if not shown:
        return None
    low = min(next(place for place, count in enumerate(counts) if count) for _, counts in shown)
    high = max(low + _LEAST_BUCKETS, *(len(counts) for _, counts in shown))
    if slo_s is not None:
        high = max(high, min(high + 12, ceil(log2(max(1, slo_s * 1000)) * figures.per_doubling) + 1))
    low = max(0, low - 1)
    top = max(max(counts) / sum(counts) for _, counts in shown)

    def across(place: float) -> float:
        return x_at((place - low) / (high - low))

    parts = _time_axis(figures.per_doubling, low, high, top)
    said = []
    for found, counts in shown:
        name = f"{view.model}@{found.version}"
        shares = [count / sum(counts) for count in counts] + [0.0] * (high - len(counts))
        marks = [(across(place + side), y_at(shares[place] / top)) for place in range(low, high) for side in (0, 1)]
        corners = [(x_at(0), y_at(0)), *marks, (x_at(1), y_at(0))]
        points = " ".join(f"{x},{y}" for x, y in corners)
        arm = f"arm{places.get(found.version, 0) % 6}"
        parts.append(f'<polygon class="shape {arm}" points="{points}"><title>{escape(name)}</title></polygon>')
        half = quantile_s(counts, 0.5, figures.per_doubling)
        assert half is not None
        at = across(_place(half, figures.per_doubling))
        parts.append(f'<line class="half {arm}" x1="{at}" x2="{at}" y1="{y_at(1)}" y2="{y_at(0)}"/>')
        said.append(f"{name} median {seconds_text(half)}")
    if slo_s is not None and low <= (at_slo := _place(slo_s, figures.per_doubling)) <= high:
        parts.append(f'<line class="margin" x1="{across(at_slo)}" x2="{across(at_slo)}" y1="{TOP}" y2="{y_at(0)}"/>')
    return svg(f"{what.replace('_', ' ')}: share of requests by time", "; ".join(said), parts, FOOT)


def cost_chart(view: RolloutView, figures: Figures, places: Mapping[int, int], now: Millis) -> str | None:
    """What a request of each version cost on average, by slot of time; None where no cost is known."""
    lines = [(found, _averages(found)) for found in ordered(view, figures)]
    lines = [(found, line) for found, line in lines if line]
    if not lines:
        return None
    last = max(place for _, line in lines for place, _ in line) + 1
    ended = max(figures.since + last * figures.slot_ms, min(now, figures.since + (last + 1) * figures.slot_ms))
    span = max(1.0, ended - figures.since)
    top = max([1e-9, *(usd for _, line in lines for _, usd in line)])
    parts = [time_grid(figures.since, ended, usd_text(top))]
    said = []
    for found, line in lines:
        name, arm = f"{view.model}@{found.version}", f"arm{places.get(found.version, 0) % 6}"
        # A slot in which nothing came is a gap, not a straight line over it.
        for _, run in groupby(enumerate(line), key=lambda each: each[1][0] - each[0]):
            marks = [
                (x_at(min(1.0, (place + side) * figures.slot_ms / span)), y_at(usd / top))
                for _, (place, usd) in run
                for side in (0, 1)
            ]
            points = " ".join(f"{x},{y}" for x, y in marks)
            parts.append(f'<polyline class="way {arm}" points="{points}"><title>{escape(name)}</title></polyline>')
        said.append(f"{name} at last {usd_text(line[-1][1])}")
    return svg("cost of a request over time", "; ".join(said), parts, FOOT)


def _histogram(found: VersionFigures, what: str) -> Sequence[int]:
    return found.first_token if what == "first_token" else found.total


def _averages(found: VersionFigures) -> list[tuple[int, float]]:
    return [(place, usd / requests) for place, (requests, usd) in enumerate(found.cost) if requests]


def _place(seconds: float, per_doubling: int) -> float:
    return log2(max(1.0, seconds * 1000)) * per_doubling


def _time_axis(per_doubling: int, low: int, high: int, top: float) -> list[str]:
    parts = [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y_at(0)}" y2="{y_at(0)}"/>']
    parts.append(f'<text x="{LEFT - 4}" y="{y_at(1) + 8}" text-anchor="end">{top:.0%}</text>')
    ticks = [seconds for seconds in _TICKS_S if low <= _place(seconds, per_doubling) <= high]
    if len(ticks) < 2:
        ticks = [bucket_s(low, per_doubling), bucket_s((low + high) // 2, per_doubling), bucket_s(high, per_doubling)]
    for seconds in ticks:
        x = x_at((_place(seconds, per_doubling) - low) / (high - low))
        anchor = "start" if x < LEFT + 30 else "end" if x > WIDTH - 38 else "middle"
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{y_at(0)}"/>')
        text = seconds_text(seconds).replace(".0 ", " ")
        parts.append(f'<text x="{x}" y="{TOP + HEIGHT + 12}" text-anchor="{anchor}">{text}</text>')
    return parts
