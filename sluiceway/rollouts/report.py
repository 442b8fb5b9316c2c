"""A rollout as one HTML file that needs nothing else: weights, gates, latency, cost, every decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sluiceway.rollouts.charts import difference_chart, places, rates_chart, weights_chart
from sluiceway.rollouts.figure_charts import cost_chart, latency_chart
from sluiceway.rollouts.figures import seconds_text, summaries, usd_text
from sluiceway.rollouts.history import stamp, weights_text
from sluiceway.rollouts.views import Arm, GateView, JournalEntry, Millis, RolloutView, document

_TEMPLATE: Final = "report.html.j2"


def report_document(stage: str, views: Sequence[RolloutView], entries: Sequence[JournalEntry]) -> dict[str, Any]:
    """What the page shows, as plain JSON values: its charts' numbers among them."""
    rollouts = [{**document(view), "summaries": [document(each) for each in summaries(view)]} for view in views]
    return {"stage": stage, "rollouts": rollouts, "journal": [document(entry) for entry in entries]}


def report_html(stage: str, views: Sequence[RolloutView], entries: Sequence[JournalEntry], now: Millis) -> str:
    """The page. The same views, entries and ``now`` (milliseconds) give the same bytes.

    It loads nothing and runs no script; whatever people wrote into names and reasons stays text.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "stamp": stamp, "arm": _arm, "points": _points, "seconds": seconds_text, "usd": usd_text,
    }  # fmt: skip
    models = [_model(view, [entry for entry in entries if entry.model == view.model], now) for view in views]
    return environment.get_template(_TEMPLATE).render(stage=stage, now=now, models=models)


def _model(view: RolloutView, entries: list[JournalEntry], now: Millis) -> dict[str, Any]:
    groups = [(f"{view.model}@{version}", gates) for version, gates in view.gates_by_arm]
    names = dict.fromkeys(gate.name for entry in entries for gate in entry.gates)
    rates = [(name, chart) for name in names if (chart := rates_chart(name, entries)) is not None]
    return {
        "view": view,
        "serves": weights_text(view.model, view.weights),
        "weights": Markup(weights_chart(view, entries, now)),
        "legend": [(place, f"{view.model}@{version}") for version, place in places(view, entries).items()],
        "figures": _figures(view, entries, now),
        "summaries": summaries(view),
        "groups": [(name, [(gate, Markup(difference_chart(gate))) for gate in gates]) for name, gates in groups],
        "rates": [(name, Markup(chart)) for name, chart in rates],
        "log": [(entry, weights_text(entry.model, entry.weights), _told(entry.gates)) for entry in entries],
    }


def _figures(view: RolloutView, entries: Sequence[JournalEntry], now: Millis) -> list[tuple[str, Markup]]:
    """The charts of time and cost that there is something for, each with its heading."""
    figures = view.figures
    if figures is None:
        return []
    slos = {gate.name: gate.slo for _, gates in view.gates_by_arm for gate in gates}
    colours = places(view, entries)
    charts = [
        ("Time to first token", latency_chart(view, figures, colours, "first_token", slos.get("first_token"))),
        ("Time to the whole answer", latency_chart(view, figures, colours, "total", slos.get("latency"))),
        ("Cost of a request over time", cost_chart(view, figures, colours, now)),
    ]
    return [(heading, Markup(chart)) for heading, chart in charts if chart is not None]


def _told(gates: Sequence[GateView]) -> list[str]:
    """The gates' numbers at one decision, a line each."""
    return [
        f"{gate.name}: {gate.verdict}{f' ({gate.reason})' if gate.reason not in (None, gate.verdict) else ''}, "
        f"stable {_arm(gate.stable)}, candidate {_arm(gate.candidate)}, difference {_points(gate.difference)}"
        for gate in gates
    ]


def _arm(arm: Arm) -> str:
    return f"{arm.bad} of {arm.requests}" + ("" if arm.rate is None else f" ({arm.rate:.1%})")


def _points(difference: tuple[float, float] | None) -> str:
    return "-" if difference is None else f"{difference[0] * 100:+.1f} to {difference[1] * 100:+.1f} points"
