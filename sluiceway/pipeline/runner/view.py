"""A build as a table, as a document, and as the error that a missed limit is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sluiceway.pipeline.runner.build import Built, Made
from sluiceway.pipeline.validate.report import QualityFailed

Report = Mapping[str, Any]
_HEAD = ("stage", "seconds", "peak MB", "size MB", "what changed")


def lines(built: Built) -> list[str]:
    """The table: a line a stage. ``kept`` stands for the seconds of a stage that was there."""
    rows = [_HEAD, *(_row(made) for made in built.made)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD) - 1)]
    return [_line(row, widths) for row in rows]


def document(built: Built) -> dict[str, Any]:
    """``{recipe, model, package, digest, missed, stages: [{stage, digest, kept, seconds, peak_mb, bytes, ...}]}``."""
    return {
        "recipe": built.recipe.name,
        "model": built.recipe.model,
        "package": None if built.package is None else str(built.package),
        "digest": built.made[-1].stage.digest,
        "missed": list(built.missed),
        "stages": [_stage(made) for made in built.made],
    }


def failure(built: Built) -> QualityFailed | None:
    """The error that says which limits weren't kept, with the numbers; None when all were."""
    if not built.missed:
        return None
    hint = "change the passes or the limits of the recipe; nothing was packaged"
    return QualityFailed("; ".join(built.missed), path=built.recipe.where("validate"), hint=hint)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(row[at].rjust(widths[at]) for at in range(1, len(widths))), row[-1]]
    return "  ".join(cells).rstrip()


def _row(made: Made) -> tuple[str, ...]:
    record = made.record
    seconds = "kept" if made.kept else f"{record.seconds:.1f}"
    size = f"{(record.model_bytes or record.bytes) / 1e6:.1f}" if record.files else ""
    told = _TOLD.get(record.stage, _pass)
    return (record.stage, seconds, f"{record.peak_mb:.0f}", size, told(record.report))


def _stage(made: Made) -> dict[str, Any]:
    record = made.record
    return {
        "stage": record.stage,
        "digest": record.digest,
        "inputs": list(record.inputs),
        "kept": made.kept,
        "seconds": record.seconds,
        "peak_mb": record.peak_mb,
        "bytes": record.bytes,
        "files": {name: {"sha256": facts.sha256, "bytes": facts.bytes} for name, facts in record.files.items()},
        "report": record.report,
    }


def _source(report: Report) -> str:
    kind, said = next(iter(report["origin"].items()))
    if kind == "wheel":
        return f"{said['name']} {said['version']}"
    if kind == "huggingface":
        return f"{said['id']} at {said['revision'][:12]}"
    return f"{kind} {said}"


def _export(report: Report) -> str:
    numbers = [f"opset {report['opset']}", f"IR {report['ir']}"]
    if "parameters" in report:
        numbers = [f"{report['nodes']} nodes", f"{report['parameters'] / 1e6:.1f} M parameters", *numbers]
    versions = report["torch"]["versions"] if "torch" in report else {}
    return ", ".join([*numbers, *(f"{name} {version}" for name, version in versions.items())])


def _pass(report: Report) -> str:
    did = report["pass"]
    share = did["bytes_after"] / did["bytes_before"] if did["bytes_before"] else 1.0
    return "; ".join((*did["notes"], f"{share:.0%} of the size before"))


def _compare(report: Report) -> str:
    if "torch" not in report:
        return _validate(report)
    return f"against torch in {len(report['torch']['cases'])} sizes: {report['torch']['largest']:.3g} at most"


def _validate(report: Report) -> str:
    held = [f"{limit['name']} {limit['limit']:g}: {_number(limit['value'])}" for limit in report["limits"]]
    return f"{report['verdict']}: {', '.join(held)}"


def _number(value: float | None) -> str:
    return "no number" if value is None else f"{value:.4g}"


def _package(report: Report) -> str:
    return f"sha256 {report['digest'][:12]}, {len(report['files'])} files"


_TOLD: Mapping[str, Callable[[Report], str]] = {
    "source": _source,
    "export": _export,
    "compare": _compare,
    "validate": _validate,
    "package": _package,
}
