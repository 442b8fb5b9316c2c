"""Runs the model and its float original over the data, row by row, and takes the figures of the task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import UserError
from sluiceway.pipeline.validate import metrics
from sluiceway.pipeline.validate.answers import Answers, Fails, chosen
from sluiceway.pipeline.validate.encode import Encoder

Array = NDArray[Any]


@dataclass(frozen=True)
class Drift:
    """``figures`` by name; ``faults``: what can't be right whatever the limits are, each a sentence.

    ``unlike``: sizes at which the answers aren't the float model's; it fails too, but a limit says more.
    """

    figures: Mapping[str, float]
    faults: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()


@dataclass
class _Chat:
    """Sums over tokens: logits of a whole text are let go before the next."""

    hits: int = 0
    tokens: int = 0
    divergence: float = 0.0
    offsets: float = 0.0
    surprises: list[Array] = field(default_factory=list)
    surprises_reference: list[Array] = field(default_factory=list)


def compare(
    model: Answers, reference: Answers, encoder: Encoder, rows: Sequence[Array], task: str, classes: Array | None = None
) -> Drift:
    """The drift over ``rows``, each by itself. ``classes`` [rows]: the right class of each, where data has labels."""
    pairs: list[tuple[Array, Array]] = []
    chat = _Chat()
    faults, broken = [], 0
    for number, row in enumerate(rows):
        wanted = chosen(reference.answer(encoder.batch([row])), task)
        try:
            got = chosen(model.answer(encoder.batch([row])), task)
        except Fails as error:
            return Drift({}, (f"row {number + 1} doesn't run: {error}",))
        if got.shape != wanted.shape:
            return Drift({}, (f"row {number + 1} answers the shape {list(got.shape)}, not {list(wanted.shape)}",))
        if not np.isfinite(wanted).all():
            raise UserError(f"the float model answers row {number + 1} with NaN or infinity", hint="export it again")
        broken += not np.isfinite(got).all()
        if task == "chat":
            _add(chat, wanted[0], got[0], row)
        else:
            pairs.append((wanted[0], got[0]))
    if broken:
        faults.append(f"{broken} of {len(rows)} rows answer NaN or infinity")
    return Drift(_chat(chat) if task == "chat" else _vectors(pairs, task, classes), tuple(faults))


def _add(chat: _Chat, wanted: Array, got: Array, ids: Array) -> None:
    chat.hits += int(metrics.top1(wanted, got).sum())
    chat.tokens += len(ids)
    chat.divergence += float(metrics.kl(wanted, got).sum())
    chat.offsets += float(metrics.offset(wanted, got).sum())
    chat.surprises.append(metrics.surprise(got[:-1], ids[1:]))
    chat.surprises_reference.append(metrics.surprise(wanted[:-1], ids[1:]))


def _chat(chat: _Chat) -> Mapping[str, float]:
    surprises = np.concatenate(chat.surprises)
    if not len(surprises):
        raise UserError("no text has two tokens", hint="perplexity needs texts, not words")
    now, before = metrics.perplexity(surprises), metrics.perplexity(np.concatenate(chat.surprises_reference))
    return {
        "tokens": chat.tokens,
        "top1": chat.hits / chat.tokens,
        "kl": chat.divergence / chat.tokens,
        "perplexity": now,
        "perplexity_reference": before,
        "perplexity_rise": now / before - 1,
        "offset": chat.offsets / chat.tokens,
    }


def _vectors(pairs: Sequence[tuple[Array, Array]], task: str, classes: Array | None) -> Mapping[str, float]:
    wanted, got = (np.stack(side) for side in zip(*pairs, strict=True))
    if task == "embed":
        return _embed(wanted, got)
    figures = {
        "rows": float(len(wanted)),
        "top1": float(metrics.top1(wanted, got).mean()),
        "kl": float(metrics.kl(wanted, got).mean()),
        "offset": float(metrics.offset(wanted, got).mean()),
    }
    if classes is not None:
        figures["accuracy"] = float(((got.argmax(axis=1) == classes) & metrics.finite_rows(got)).mean())
        figures["accuracy_reference"] = float((wanted.argmax(axis=1) == classes).mean())
    return figures


def _embed(wanted: Array, got: Array) -> Mapping[str, float]:
    cosines = metrics.cosine(wanted, got)
    figures = {
        "rows": float(len(wanted)),
        "cosine_min": float(cosines.min()),
        "cosine_mean": float(cosines.mean()),
        "length_drift": float(np.abs(metrics.length_ratio(wanted, got) - 1).max()),
    }
    return figures | ({"rank": metrics.rank_correlation(wanted, got)} if len(wanted) > 2 else {})


def class_numbers(labels: Sequence[str | None], names: Sequence[str]) -> Array | None:
    """The place of each row's label among the model's ``names``; None without labels. Raises UserError."""
    if not labels or labels[0] is None:
        return None
    strange = sorted({str(label) for label in labels} - set(names))
    if strange:
        raise UserError(
            "a label that the model doesn't have", got=strange[0], hint=f"it has {', '.join(names) or 'none'}"
        )
    return np.array([names.index(str(label)) for label in labels])


def worst(values: Array) -> float:
    """The largest, NaN if there is one: numpy's own maximum keeps it, Python's doesn't."""
    return float(np.max(values)) if len(values) else math.nan
