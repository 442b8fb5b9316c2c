"""What the measurement says, as tables and against the goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from rich.table import Table

MIXED = "k_quant_mixed"
EXACT = 0.001
"""Largest difference of a logit, or of a number of a vector, that a float export may have from its loader's answer."""


class Quality(TypedDict, total=False):
    """Against the float model's own answers, over ``rows`` tokens or sentences. ``kl`` in nats a token, ``largest``:
    difference of one number."""

    rows: int
    kl: float
    top1: float
    perplexity: float
    cosine_min: float
    cosine_mean: float
    rank: float
    largest: float


class Row(TypedDict):
    """One model. ``mb`` and memory in 10^6 bytes, ``share`` of our float export; tokens a second of the processor.

    ``failed``: why there is no such model, else empty; figures are None then.
    """

    model: str
    by: str
    name: str
    failed: str
    made_seconds: float | None
    made_peak_mb: float | None
    mb: float | None
    share: float | None
    quality: Quality
    prefill: float | None
    decode: float | None
    loaded_mb: float | None
    peak_mb: float | None


class Goal(TypedDict):
    goal: str
    seen: str
    holds: bool


def table(rows: Sequence[Row], model: str) -> Table:
    """The rows of ``model``; a figure that wasn't taken is a dash."""
    from rich.table import Table

    chosen = [row for row in rows if row["model"] == model]
    names = ("kl", "top1", "perplexity") if any("kl" in row["quality"] for row in chosen) else ENCODER
    made = Table(title=_title(chosen, model), title_justify="left")
    for name in ("by", "what"):
        made.add_column(name)
    titles = [TITLES[name] for name in names]
    for name in ("MB", "share", *titles, "prefill/s", "decode/s", "loaded MB", "peak MB", "made in s", "made in MB"):
        made.add_column(name, justify="right")
    for row in chosen:
        if row["failed"]:
            made.add_row(row["by"], row["name"], "no model")
            continue
        figures: Mapping[str, float] = row["quality"]  # type: ignore[assignment]
        shown = [_number(figures.get(name), 5 if name == "kl" else 3) for name in names]
        speed = [_number(row["prefill"], 0), _number(row["decode"], 1)]
        rest = [_number(row[key], 0) for key in ("loaded_mb", "peak_mb", "made_seconds", "made_peak_mb")]
        share = "-" if row["share"] is None else f"{100 * row['share']:.1f} %"
        made.add_row(row["by"], row["name"], _number(row["mb"], 1), share, *shown, *speed, *rest)
    return made


ENCODER = ("cosine_min", "cosine_mean", "rank")
TITLES = {
    "kl": "KL", "top1": "top-1", "perplexity": "perplexity",
    "cosine_min": "min cosine", "cosine_mean": "mean cosine", "rank": "rank",
}  # fmt: skip


def _title(rows: Sequence[Row], model: str) -> str:
    counted = next((row["quality"]["rows"] for row in rows if "rows" in row["quality"]), 0)
    return f"{model}, against its loader's own answers over {counted} {'tokens' if model == 'SmolLM2' else 'sentences'}"


def remarks(rows: Sequence[Row]) -> list[str]:
    """Why models are missing, and how fast ours decodes beside the builder's smallest good one."""
    said = [f"{row['by']} {row['name']}: no model: {row['failed']}" for row in rows if row["failed"]]
    ours, theirs = _row(rows, "SmolLM2", "ours", "int4 mixed"), _row(rows, "SmolLM2", "builder", MIXED)
    if ours and theirs and ours["decode"] and theirs["decode"]:
        said.append(f"decoding int4 mixed takes {theirs['decode'] / ours['decode']:.2f} times as long as {MIXED}")
    return said


def goals(rows: Sequence[Row]) -> list[Goal]:
    """Each goal with what was seen. Those beside the builder are there only if it made its models."""
    return [*_decoder_goals(rows), *_encoder_goals(rows), *_exports(rows)]


def _decoder_goals(rows: Sequence[Row]) -> list[Goal]:
    int8 = _row(rows, "SmolLM2", "ours", "int8")
    mixed = _row(rows, "SmolLM2", "ours", "int4 mixed")
    rival = _row(rows, "SmolLM2", "builder", MIXED)
    kl8, kl4 = _quality(int8, "kl"), _quality(mixed, "kl")
    share = mixed["share"] if mixed else None
    found = [
        _at_most("SmolLM2 INT8 weights: KL to float", kl8, 0.02, "{:.5f}"),
        _at_most("SmolLM2 INT4: share of the float size", share, 0.23, "{:.1%}"),
        _at_most("SmolLM2 INT4: KL to float", kl4, 0.25, "{:.5f}"),
    ]
    if rival:
        size, kl = rival["mb"] or 0.0, _quality(rival, "kl") or 0.0
        found.append(_at_most(f"SmolLM2 INT4: MB, the builder's {MIXED}", mixed and mixed["mb"], size, "{:.1f}"))
        found.append(_at_most(f"SmolLM2 INT4: KL, the builder's {MIXED}", kl4, kl, "{:.5f}"))
    return found


def _encoder_goals(rows: Sequence[Row]) -> list[Goal]:
    int8 = _row(rows, "MiniLM", "ours", "int8")
    cosine = _quality(int8, "cosine_min")
    seen = "not measured" if cosine is None else f"{cosine:.4f}"
    return [
        _at_most("MiniLM INT8: share of the float size", int8 and int8["share"], 0.26, "{:.1%}"),
        _goal("MiniLM INT8: minimum cosine at least 0.98", seen, cosine is not None and cosine >= 0.98),
    ]


def _exports(rows: Sequence[Row]) -> list[Goal]:
    found = []
    for model in ("SmolLM2", "MiniLM"):
        largest = _quality(_row(rows, model, "ours", "fp32"), "largest")
        found.append(_at_most(f"{model} float export: difference to its loader's answers", largest, EXACT, "{:.1e}"))
    made = [row for row in rows if not row["failed"]]
    run = [row for row in made if row["quality"]]
    found.append(_goal("every model that was made is opened and run", f"{len(run)} of {len(made)}", run == made))
    return found


def _row(rows: Sequence[Row], model: str, by: str, name: str) -> Row | None:
    found = [row for row in rows if (row["model"], row["by"], row["name"]) == (model, by, name) and not row["failed"]]
    return found[0] if found else None


def _quality(row: Row | None, name: str) -> float | None:
    figures: Mapping[str, float] = row["quality"] if row else {}  # type: ignore[assignment]
    return figures.get(name)


def _at_most(what: str, seen: float | None, most: float, form: str) -> Goal:
    """A figure that wasn't taken, and one that is no number, miss the goal."""
    shown = "not measured" if seen is None else form.format(seen)
    return _goal(f"{what}, at most {form.format(most)}", shown, seen is not None and seen <= most)


def _goal(goal: str, seen: str, holds: bool) -> Goal:
    return {"goal": goal, "seen": seen, "holds": holds}


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
