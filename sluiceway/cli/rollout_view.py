"""Rollouts as a screen: weights as bars, gates with their bounds, what is waited for, what happened."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sluiceway.progress import human_seconds
from sluiceway.rollouts.history import stamp, weights_text
from sluiceway.rollouts.views import Arm, GateView, JournalEntry, Millis, RolloutView

_BAR = 40
_WIDE = 1_000  # a sentence has a line of its own, however long
_COLOURS = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
_BAD = frozenset({"rolled-back", "aborted"})
_GATES = ("gate", "stable bad", "candidate bad", "difference", "margin", "to fail", "to pass", "verdict")
_MODELS = ("model", "phase", "strategy", "weights", "step", "left", "waits for")


def printable(text: str) -> str:
    """People choose names and reasons: what is not printable would be a terminal's command."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def models_table(models: Sequence[RolloutView], now: Millis) -> RenderableType:
    """A line a model."""
    table = _table(_MODELS, left=len(_MODELS))
    for view in models:
        weights = weights_text(view.model, view.weights)
        step = "-" if view.step is None else f"{view.step + 1}/{len(view.steps)}"
        cells = (view.model, view.phase, view.strategy or "-", weights, step, _left(view, now) or "-", view.waiting)
        table.add_row(*(printable(cell) for cell in cells))
    return table


def model_block(view: RolloutView, now: Millis) -> RenderableType:
    """All of one model."""
    parts: list[RenderableType] = [_head(view, now)]
    for version, weight in view.weights:
        bar = Text("█" * round(weight / 100 * _BAR), style="cyan" if version == view.stable else "magenta")
        bar.truncate(_BAR, pad=True)
        parts.append(Text.assemble(f"  {printable(view.model)}@{version:<4} ", bar, f" {weight:>3} %"))
    for version, gates in view.gates_by_arm:
        parts.append(_gates(gates, f"{printable(view.model)}@{version} bad"))
    if view.platform:
        parts.append(Text("  platform: both arms are bad; weights and clocks stand still", style="bold yellow"))
    if view.held:
        parts.append(
            Text("  held: what git declares has failed, and is not tried again until git changes it", "yellow")
        )
    parts.append(Text(f"  {printable(view.waiting)}"))
    return Group(*parts)


def screen(
    stage: str,
    models: Sequence[RolloutView],
    entries: Sequence[JournalEntry],
    now: Millis,
    *,
    silent_s: float = 0,
    height: int | None = None,
    width: int = _WIDE,
) -> RenderableType:
    """The whole of ``watch``, with as many events as have place in ``height`` lines of ``width``.

    ``silent_s``: for how long the gateway has not answered.
    """
    head = Text(f"{stage}  {stamp(now)}", style="bold")
    if silent_s:
        head.append(f"  no answer for {human_seconds(silent_s)}: what you see is from before", style="bold red")
    blocks: list[RenderableType] = [head]
    for view in models:
        blocks += [Text(), model_block(view, now)]
    place = None if height is None else max(3, height - _lines(blocks, width) - 2)
    events = entries if place is None else entries[-place:]
    return Group(*blocks, Text(), Text("events", style="dim"), *(Text(entry_line(entry)) for entry in events))


def entry_line(entry: JournalEntry) -> str:
    """``2026-11-01 12:00:03Z  chat: ... (person:ann)``."""
    return printable(f"{stamp(entry.at)}  {entry.sentence}  ({entry.cause})")


def as_text(view: RenderableType, width: int = _WIDE) -> str:
    """What it looks like where there are no colours, on lines as long as they need to be."""
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(view)
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").splitlines())


def _head(view: RolloutView, now: Millis) -> Text:
    head = Text(printable(view.model), style="bold")
    if view.strategy:
        to = ", ".join(f"{view.model}@{version}" for version in view.candidates)
        head.append(printable(f"  {view.strategy}  {view.model}@{view.stable} -> {to}"), style="not bold")
    head.append(f"  {view.phase}", style="red" if view.phase in _BAD else "green")
    if view.step is not None:
        head.append(f"  step {view.step + 1} of {len(view.steps)}", style="not bold")
    if (left := _left(view, now)) is not None:
        head.append(f"  {left} left", style="not bold")
    return head


def _gates(gates: Sequence[GateView], candidate: str) -> Table:
    table = _table((_GATES[0], _GATES[1], candidate, *_GATES[3:]), left=1)
    for gate in gates:
        name = gate.name if gate.mode == "enforce" else f"{gate.name} ({gate.mode})"
        verdict = gate.verdict if gate.reason in (None, gate.verdict) else f"{gate.verdict}: {gate.reason}"
        span = "-" if gate.difference is None else f"{_points(gate.difference[0])} .. {_points(gate.difference[1])}"
        table.add_row(
            f"  {printable(name)}", _arm(gate.stable), _arm(gate.candidate), span, _points(gate.margin),
            f"{gate.failing:.0%}", f"{gate.passing:.0%}", Text(printable(verdict), style=_COLOURS[gate.verdict]),
        )  # fmt: skip
    return table


def _table(columns: Sequence[str], *, left: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, name in enumerate(columns):
        first = place < left or place == len(columns) - 1
        table.add_column(f"  {name}" if name == "gate" else name, justify="left" if first else "right")
    return table


def _lines(blocks: Sequence[RenderableType], width: int) -> int:
    return sum(as_text(block, width).count("\n") + 1 for block in blocks)


def _left(view: RolloutView, now: Millis) -> str | None:
    """How long the clock runs on; None when there is none, or it is over."""
    if view.until is None or view.until <= now:
        return None
    return human_seconds(max(1, round((view.until - now) / 1000)))


def _arm(arm: Arm) -> str:
    return f"{arm.bad}/{arm.requests}" if arm.rate is None else f"{arm.bad}/{arm.requests}  {arm.rate:.1%}"


def _points(share: float) -> str:
    """A difference of shares, in percentage points."""
    return f"{share * 100:+.1f}"
