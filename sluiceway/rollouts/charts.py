"""Charts of a report as inline SVG: shapes and escaped text, coloured by classes of the page around them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sluiceway.rollouts.history import stamp
from sluiceway.rollouts.views import GateView, JournalEntry, Millis, RolloutView, Split

WIDTH, HEIGHT = 720, 180
LEFT, TOP = 40, 8
FOOT = HEIGHT + 24
"""Of a chart with a line of times under it."""


def weights_chart(view: RolloutView, entries: Sequence[JournalEntry], now: Millis) -> str:
    """Each version's share over time, stacked, from the journal's first entry of this model to ``now``."""
    points: list[tuple[Millis, Split]] = [(entry.at, entry.weights) for entry in entries]
    points.append((now, points[-1][1] if points and points[-1][1] else view.weights))
    began = points[0][0]
    span = max(1.0, max(at for at, _ in points) - began)
    versions = sorted({version for _, weights in points for version, _ in weights})
    parts = [time_grid(began, began + span)]
    for place, version in enumerate(versions):
        below = set(versions[:place])
        upto = below | {version}
        path = _area([((at - began) / span, _share(weights, below), _share(weights, upto)) for at, weights in points])
        title = escape(f"{view.model}@{version}")
        parts.append(f'<path class="arm arm{place % 6}" d="{path}"><title>{title}</title></path>')
    said = "; ".join(f"{stamp(at)}: {_named(view.model, weights)}" for at, weights in points[-12:])
    return svg("weights over time", said, parts, FOOT)


def places(view: RolloutView, entries: Sequence[JournalEntry]) -> dict[int, int]:
    """Which of six colours a version has in every chart of its model."""
    shown = [*(entry.weights for entry in entries), view.weights]
    versions = sorted({version for weights in shown for version, _ in weights})
    return {version: place % 6 for place, version in enumerate(versions)}


def difference_chart(gate: GateView) -> str:
    """The gate's interval on a line from -limit to +limit, with zero and its margin marked."""
    low, high = gate.difference or (0.0, 0.0)
    limit = max(0.01, gate.margin * 2, min(1.0, max(abs(low), abs(high))))

    def across(share: float) -> float:
        return round(100 + max(-1.0, min(1.0, share / limit)) * 96, 1)

    parts = ['<line class="zero" x1="100" x2="100" y1="2" y2="22"/>']
    parts.append(f'<line class="margin" x1="{across(gate.margin)}" x2="{across(gate.margin)}" y1="2" y2="22"/>')
    if gate.difference is not None:
        width = max(1.0, round(across(high) - across(low), 1))
        parts.append(f'<rect class="span {escape(gate.verdict)}" x="{across(low)}" y="8" width="{width}" height="8"/>')
    said = "no requests yet" if gate.difference is None else f"from {low * 100:+.2f} to {high * 100:+.2f} points"
    return svg(f"difference of {gate.name}", f"{said}, margin {gate.margin * 100:.2f} points", parts, 24, 200)


def rates_chart(name: str, entries: Sequence[JournalEntry]) -> str | None:
    """Both arms' share of bad requests at each entry that tells the gate ``name``; None with fewer than two."""
    told = [(entry.at, gate) for entry in entries for gate in entry.gates if gate.name == name]
    if len(told) < 2:
        return None
    began, span = told[0][0], max(1.0, told[-1][0] - told[0][0])
    rates = {arm: [(at, getattr(gate, arm).rate) for at, gate in told] for arm in ("stable", "candidate")}
    top = max([0.01, *(rate for line in rates.values() for _, rate in line if rate is not None)])
    parts = [time_grid(began, began + span, f"{top:.1%}")]
    for arm, line in rates.items():
        marks = [(x_at((at - began) / span), y_at(rate / top)) for at, rate in line if rate is not None]
        joined = " ".join(f"{x},{y}" for x, y in marks)
        parts.append(f'<polyline class="line {arm}" points="{joined}"><title>{arm}</title></polyline>')
    last = {arm: line[-1][1] for arm, line in rates.items()}
    said = ", ".join(f"{arm} {'-' if rate is None else f'{rate:.2%}'}" for arm, rate in last.items())
    return svg(f"bad share of {name} over time", f"at last {said}", parts, FOOT)


def _area(points: Sequence[tuple[float, float, float]]) -> str:
    """Steps: a share holds until the next point."""
    upper: list[str] = []
    lower: list[str] = []
    for place, (at, low, high) in enumerate(points):
        if place:
            upper.append(f"{x_at(at)},{y_at(points[place - 1][2])}")
            lower.append(f"{x_at(at)},{y_at(points[place - 1][1])}")
        upper.append(f"{x_at(at)},{y_at(high)}")
        lower.append(f"{x_at(at)},{y_at(low)}")
    return "M" + " L".join([*upper, *reversed(lower)]) + " Z"


def _share(weights: Split, versions: set[int]) -> float:
    return sum(weight for version, weight in weights if version in versions) / 100


def _named(model: str, weights: Split) -> str:
    return ", ".join(f"{model}@{version} {weight} %" for version, weight in weights)


def time_grid(began: Millis, ended: Millis, top: str = "100 %") -> str:
    lines = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y_at(share)}" y2="{y_at(share)}"/>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    foot = TOP + HEIGHT + 12
    return (
        f'{lines}<text x="{LEFT - 4}" y="{y_at(1) + 8}" text-anchor="end">{escape(top)}</text>'
        f'<text x="{LEFT - 4}" y="{y_at(0)}" text-anchor="end">0</text>'
        f'<text x="{LEFT}" y="{foot}">{stamp(began)}</text>'
        f'<text x="{WIDTH - 8}" y="{foot}" text-anchor="end">{stamp(ended)}</text>'
    )


def x_at(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - 8), 1)


def y_at(share: float) -> float:
    return round(TOP + (1 - share) * (HEIGHT - 12), 1)


def svg(title: str, said: str, parts: Sequence[str], height: int, width: int = WIDTH) -> str:
    told = f"<title>{escape(title)}</title><desc>{escape(said)}</desc>"
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">{told}{"".join(parts)}</svg>'
    )
