"""What ``sluiceway models evaluate`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from sluiceway.golden.report import Report, Row
from sluiceway.golden.run import Run


def lines(run: Run, told: Report) -> Iterator[str]:
    """A table with a row for all pairs, each language, topic and kind of check; then the losses, then the verdict."""
    settings = run.settings
    sure = f"{100 - 200 * settings.test.beta:g} % interval"
    rows = [("", "pairs", settings.stable, settings.candidate, "difference", sure), *map(_cells, told.rows)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows if told.rows else ():
        first = row[0].ljust(widths[0])
        yield "  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]).rstrip()
    if told.losses:
        yield ""
        yield f"where {settings.candidate} lost most:"
    for loss in told.losses:
        yield f"  {loss.id}  {loss.stable:.2f} -> {loss.candidate:.2f}  {', '.join(loss.checks)}  {loss.where}"
        yield f"    {loss.answer}"
    for version, failures in zip((settings.stable, settings.candidate), told.failures, strict=True):
        if failures:
            counted = ", ".join(f"{count} {code}" for code, count in failures.items())
            yield f"{version} gave no answer: {counted}"
    if run.lost:
        yield f"not compared: {len(run.lost)} of {run.done} pairs"
    yield ""
    yield f"{told.verdict}: {told.sentence}"


def _cells(row: Row) -> tuple[str, ...]:
    low, high = row.difference
    difference = row.candidate - row.stable
    name = f"{row.group} {row.name}".rstrip()
    bounds = f"{_signed(low)} to {_signed(high)}"
    return name, str(row.pairs), f"{row.stable:.2f}", f"{row.candidate:.2f}", _signed(difference), bounds


def _signed(number: float) -> str:
    """``+0.05``; no ``-0.00``."""
    return f"{round(number, 2) + 0.0:+.2f}"
