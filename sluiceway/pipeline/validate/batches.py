"""Rows together against the same rows alone: padding must change nothing, nor a cache, nor the size of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluiceway.pipeline.validate import metrics
from sluiceway.pipeline.validate.answers import Answers, Fails, OnnxModel, chosen
from sluiceway.pipeline.validate.compare import Drift, worst
from sluiceway.pipeline.validate.encode import Encoder

Array = NDArray[Any]
MOST = 6
"""Rows of a padded batch."""
ALIKE = 0.7
"""Mean cosine to the float model at any size. INT4 of a small decoder has 0.85 at one token; a wrong axis far less."""


def padded(model: Answers, encoder: Encoder, rows: Sequence[Array], task: str) -> Drift:
    """Rows of unequal length alone and together. Figures: ``padded_cosine`` (embed) or ``padded_kl``, the worst row's.

    With a cache also ``cached_kl``: the same batch with its last tokens fed in a second call. No figures where all
    rows have one length.
    """
    some = _unequal(rows)
    if not encoder.padded or len(some) < 2:
        return Drift({})
    try:
        alone = [chosen(model.answer(encoder.batch([row])), task)[0] for row in some]
        together = chosen(model.answer(encoder.batch(some)), task)
        if task != "chat":
            return _vectors(np.stack(alone), together, task)
        figures = {"padded_kl": _last(alone, together)}
        if isinstance(model, OnnxModel) and model.cached and len(min(some, key=len)) > 1:
            figures["cached_kl"] = _last(alone, _in_two_calls(model, encoder, some))
    except Fails as error:
        return Drift({}, (f"a padded batch of {len(some)} doesn't run: {error}",))
    return Drift(figures)


def sizes(
    model: Answers,
    reference: Answers,
    encoder: Encoder,
    rows: Sequence[Array],
    task: str,
    asked: Sequence[tuple[int, int]],
) -> Drift:
    """Each (batch, length) of ``asked`` must run, with the reference's shapes and about its numbers."""
    stream = np.concatenate(list(rows))
    faults, unlike = [], []
    for batch, length in asked:
        some = [rows[number % len(rows)] for number in range(batch)]
        feed = encoder.batch(_cut(stream, batch, length) if encoder.padded else some)
        wanted = chosen(reference.answer(feed), task)
        where = f"batch {batch} of length {length}"
        try:
            got = chosen(model.answer(feed), task)
        except Fails as error:
            faults.append(f"{where} doesn't run: {error}")
            continue
        if got.shape != wanted.shape:
            faults.append(f"{where} answers the shape {list(got.shape)}, not {list(wanted.shape)}")
            continue
        near = float(_alike(wanted, got, task).mean())
        if not near >= ALIKE:
            unlike.append(f"{where} is unlike the float model: cosine {near:.3g}, at least {ALIKE} is asked for")
    return Drift({}, tuple(faults), tuple(unlike))


def _alike(wanted: Array, got: Array, task: str) -> Array:
    flat = wanted.reshape(-1, wanted.shape[-1]), got.reshape(-1, got.shape[-1])
    return np.asarray(metrics.cosine(*flat) if task == "embed" else metrics.centred_cosine(*flat))


def _vectors(alone: Array, together: Array, task: str) -> Drift:
    if task == "embed":
        return Drift({"padded_cosine": float(np.min(metrics.cosine(alone, together)))})
    return Drift({"padded_kl": worst(metrics.kl(alone, together))})


def _last(alone: Sequence[Array], together: Array) -> float:
    """The worst divergence at the last token, where a left-padded text goes on."""
    return worst(metrics.kl(np.stack([logits[-1] for logits in alone]), together[:, -1]))


def _in_two_calls(model: OnnxModel, encoder: Encoder, rows: Sequence[Array]) -> Array:
    feeds = encoder.batch(rows)
    ids, mask = feeds["input_ids"], feeds["attention_mask"]
    first = ids.shape[1] - max(1, len(min(rows, key=len)) // 2)
    before = model.answer({"input_ids": ids[:, :first], "attention_mask": mask[:, :first]})
    after = model.answer({"input_ids": ids[:, first:], "attention_mask": mask}, model.cache_of(before))
    return chosen(after, "chat")


def _unequal(rows: Sequence[Array]) -> list[Array]:
    """A few rows from the shortest to the longest, each of another length."""
    by_length = {len(row): row for row in reversed(rows) if len(row)}
    ordered = [by_length[length] for length in sorted(by_length)]
    if len(ordered) <= MOST:
        return ordered
    return [ordered[round(place)] for place in np.linspace(0, len(ordered) - 1, MOST)]


def _cut(stream: Array, batch: int, length: int) -> list[Array]:
    return [np.resize(np.roll(stream, -number * length), length) for number in range(batch)]
