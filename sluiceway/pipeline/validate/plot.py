"""The variants of a model as a picture: size from left to right, quality upward, speed as the area of the dot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from sluiceway.pipeline.validate.pareto import QUALITY_OF, Variant, pareto, variant
from sluiceway.pipeline.validate.report import Report
from sluiceway.pipeline.validate.table import quality_title

WIDTH, HEIGHT = 760, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 30, 50, 60
_SMALL, _LARGE = 5.0, 16.0
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.t{font-size:16px}.g{stroke:#ddd}.f{fill:none;stroke:#1a7f5a;"
    "stroke-dasharray:4 4}.pass{fill:#1a7f5a}.fail{fill:#b3261e}circle{fill-opacity:.65}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}}"
)


def svg(title: str, reports: Mapping[str, Report]) -> str:
    """A drawing of its own, with the figures of each variant as its dot's title. Same reports, same text.

    A variant whose quality is no number has no place in it, and is named below the title.
    """
    task = next(iter(reports.values())).task
    rows = [variant(name, report) for name, report in reports.items()]
    drawn = [row for row in rows if math.isfinite(row.quality)]
    across = _Axis([0.0, *(row.size_mb for row in drawn)], _LEFT, WIDTH - _RIGHT)
    up = _Axis([row.quality for row in drawn], HEIGHT - _BOTTOM, _TOP + 20)
    more = QUALITY_OF[task][1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="t" x="{_LEFT}" y="24">{escape(title)}</text>',
        *_missing([row.name for row in rows if row not in drawn]),
        *_grid(across, up, quality_title(task), more),
        *_front(pareto(rows), across, up),
        *_dots(drawn, across, up, more),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Axis:
    """Values to places between ``first`` and ``last``, with a little room at the ends."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        room = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
        self.low, self.high = (low if low == 0.0 else low - room), high + room
        self._first, self._last = first, last

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self._first + share * (self._last - self._first), 1)

    def ticks(self) -> list[float]:
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > 7:
            step *= 2 if str(step).strip("0.")[:1] in ("1", "5") else 2.5
        start = math.ceil(self.low / step)
        return [start * step + number * step for number in range(int((self.high - start * step) / step) + 1)]


def _grid(across: _Axis, up: _Axis, quality: str, more: bool) -> list[str]:
    bottom, parts = HEIGHT - _BOTTOM, []
    for tick in across.ticks():
        x = across.at(tick)
        parts.append(f'<line class="g" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 20}" text-anchor="middle">{tick:g}</text>')
    for tick in up.ticks():
        y, shown = up.at(tick), tick if more else -tick
        parts.append(f'<line class="g" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{shown + 0.0:.4g}</text>')
    said = "size in MB; a larger dot is quicker"
    parts.append(f'<text x="{(_LEFT + WIDTH - _RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{said}</text>')
    middle = (_TOP + bottom) / 2
    parts.append(f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{quality}</text>')
    return parts


def _front(best: Sequence[Variant], across: _Axis, up: _Axis) -> list[str]:
    """A line through what nothing beats, by size."""
    if len(best) < 2:
        return []
    places = [f"{across.at(row.size_mb)},{up.at(row.quality)}" for row in sorted(best, key=lambda row: row.size_mb)]
    return [f'<polyline class="f" points="{" ".join(places)}"/>']


def _dots(rows: Sequence[Variant], across: _Axis, up: _Axis, more: bool) -> list[str]:
    fastest = max((row.speed or 0.0 for row in rows), default=0.0)
    parts = []
    for row in rows:
        x, y = across.at(row.size_mb), up.at(row.quality)
        share = math.sqrt((row.speed or 0.0) / fastest) if fastest else 0.0
        radius = round(max(_SMALL, _LARGE * share), 1)
        speed = "" if row.speed is None else f", {row.speed:.4g} tokens a second"
        quality = f"{row.quality if more else -row.quality:.4g}"
        said = escape(f"{row.name}: {row.size_mb:.4g} MB, quality {quality}{speed}, {row.verdict}")
        parts.append(f'<circle class="{row.verdict}" cx="{x}" cy="{y}" r="{radius}"><title>{said}</title></circle>')
        anchor, away = ("end", -radius - 4) if x > WIDTH * 0.75 else ("start", radius + 4)
        name = escape(row.name)
        parts.append(f'<text x="{x + away:.1f}" y="{y + 4}" text-anchor="{anchor}">{name}</text>')
    return parts


def _missing(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    said = escape(f"not drawn, its answers are no numbers: {', '.join(names)}")
    return [f'<text x="{_LEFT}" y="42">{said}</text>']
