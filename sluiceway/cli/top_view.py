"""A snapshot of traffic as a screen."""

from __future__ import annotations

from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sluiceway.cli.logs import money
from sluiceway.observe.window import Figures, Snapshot

_COLUMNS = (
    "req/s", "errors", "4xx", "first p50", "p90", "total p50", "p90", "tokens/s", "cost", "cache", "fallback", "retries"
)  # fmt: skip
_AROUND = 8  # lines of a screen that are no row of the table


def view(stage: str, snapshot: Snapshot, height: int | None = None) -> RenderableType:
    """The screen; with ``height`` it shows as many rows as have place."""
    when = datetime.fromtimestamp(snapshot.at).strftime("%H:%M:%S")
    total = snapshot.total
    head = Text(f"{stage}  {when}  last {snapshot.seconds:.0f} s: {total.requests} requests", style="bold")
    if snapshot.total.left:
        head.append(f", {total.left} left by their clients", style="dim")
    rows = snapshot.rows if height is None else snapshot.rows[: max(1, height - _AROUND)]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("model")
    table.add_column("variant")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*_cells(row))
    if len(snapshot.rows) != 1:
        table.add_row(*_cells(total), style="bold")
    hidden = len(snapshot.rows) - len(rows)
    return Group(
        head, Text(), table, *([Text(f"and {hidden} more", style="dim")] if hidden else []), *_faults(snapshot)
    )


def _cells(row: Figures) -> list[str | Text]:
    errors = Text(_share(row.failed, row.requests), style="red" if row.failed else "")
    return [
        row.name,
        row.variant,
        f"{row.per_second:.1f}",
        errors,
        str(row.refused or "-"),
        _ms(row.ttft_p50),
        _ms(row.ttft_p90),
        _ms(row.total_p50),
        _ms(row.total_p90),
        f"{row.tokens_per_second:.0f}",
        money(row.cost_usd) if row.cost_usd else "-",
        "-" if row.cache_share is None else f"{row.cache_share:.0%}",
        str(row.fallbacks or "-"),
        str(row.retries or "-"),
    ]


def _faults(snapshot: Snapshot) -> list[RenderableType]:
    lines: list[RenderableType] = []
    if snapshot.errors:
        told = ", ".join(f"{code} {count}" for code, count in snapshot.errors)
        lines += [Text(), Text(f"errors: {told}", style="yellow")]
    if degraded := snapshot.total.degraded:
        lines.append(
            Text(f"degraded: {degraded} had an old answer or the stage's own, as no model had one", style="yellow")
        )
    if snapshot.failures:
        last = snapshot.failures[-1]
        lines.append(Text(f"failures: {len(snapshot.failures)}, last: {last.what}", style="red"))
    return lines


def _share(part: int, whole: int) -> str:
    return "-" if part == 0 else f"{part / whole:.1%}"


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value < 10_000 else f"{value / 1000:.1f} s"
