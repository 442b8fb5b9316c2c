"""The variants of a model as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from sluiceway.pipeline.validate.pareto import QUALITY_OF, pareto, variant
from sluiceway.pipeline.validate.report import Report

_COLUMNS = {
    "embed": (("min cosine", "cosine_min"), ("mean", "cosine_mean"), ("rank", "rank")),
    "classify": (("top-1", "top1"), ("KL", "kl"), ("accuracy", "accuracy")),
    "chat": (("top-1", "top1"), ("KL", "kl"), ("perplexity", "perplexity")),
}
_NONE = "-"


def cells(reports: Mapping[str, Report]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows as text. ``reports`` by the name of the variant, all of one task."""
    task = next(iter(reports.values())).task
    front = {row.name for row in pareto([variant(name, report) for name, report in reports.items()])}
    head = ("variant", "MB", *(title for title, _ in _COLUMNS[task]), "tok/s", "P50 ms", "P99 ms", "peak MB", "verdict")
    return head, [_row(name, report, name in front) for name, report in reports.items()]


def plain(reports: Mapping[str, Report]) -> str:
    """Columns by spaces, for a pipe; ``*`` marks what nothing beats."""
    head, rows = cells(reports)
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return "\n".join("  ".join(_set(row, widths)).rstrip() for row in (head, *rows)) + "\n"


def table(reports: Mapping[str, Report]) -> Table:
    """The same for a terminal; then the reasons of what fails, below it."""
    head, rows = cells(reports)
    reasons = [f"{name}: {reason}" for name, report in reports.items() for reason in report.reasons]
    made = Table(caption="\n".join(reasons) or None, caption_justify="left")
    for at, title in enumerate(head):
        made.add_column(title, justify="left" if at in (0, len(head) - 1) else "right")
    for row in rows:
        made.add_row(*row, style=None if row[-1].startswith("pass") else "red")
    return made


def _row(name: str, report: Report, best: bool) -> tuple[str, ...]:
    speed, figures = report.speed, report.figures
    rate = (speed.decode_tokens_per_second or speed.tokens_per_second) if speed else None
    return (
        name,
        _number(figures.get("size_mb")),
        *(_number(figures.get(figure)) for _, figure in _COLUMNS[report.task]),
        _number(rate),
        *(_number(value) for value in ((speed.p50_ms, speed.p99_ms, speed.peak_mb) if speed else (None,) * 3)),
        f"{report.verdict}{' *' if best else ''}",
    )


def _set(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    last = len(row) - 1
    return [
        text.ljust(width) if at in (0, last) else text.rjust(width)
        for at, (text, width) in enumerate(zip(row, widths, strict=True))
    ]


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def quality_title(task: str) -> str:
    """What `plot` writes on its axis."""
    figure = QUALITY_OF[task][0]
    return next(title for title, key in _COLUMNS[task] if key == figure)
