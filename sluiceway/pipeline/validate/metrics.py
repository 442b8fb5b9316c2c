"""How far answers drifted, as plain arithmetic. A NaN that goes in comes out: it never turns into a good number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

_BLOCK = 64
"""Rows widened to float64 at a time: a vocabulary has a hundred thousand columns."""


def finite_rows(values: Floats) -> NDArray[np.bool_]:
    """For each row of ``values`` [rows, ...], whether all its numbers are finite."""
    return np.asarray(np.isfinite(values).reshape(len(values), -1).all(axis=1))


def cosine(reference: Floats, values: Floats) -> Floats:
    """Cosine of each row with its row of the reference, both [rows, width]. A row of zeros gives NaN."""
    a, b = reference.astype(np.float64), values.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.asarray((a * b).sum(axis=1) / (_lengths(a) * _lengths(b)))


def length_ratio(reference: Floats, values: Floats) -> Floats:
    """Length of each row over that of its row of the reference: what a cosine doesn't see."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.asarray(_lengths(values.astype(np.float64)) / _lengths(reference.astype(np.float64)))


def centred_cosine(reference: Floats, values: Floats) -> Floats:
    """`cosine` of rows whose own mean was taken off, as fits logits: one number added to all of them says nothing."""
    a, b = reference.astype(np.float64), values.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        return cosine(a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True))


def rank_correlation(reference: Floats, values: Floats) -> float:
    """Spearman's correlation of who is near whom: over the cosines of all pairs of rows. At least 3 rows."""
    first, second = _pairs(reference), _pairs(values)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return math.nan
    a, b = ranks(first), ranks(second)
    a, b = a - a.mean(), b - b.mean()
    spread = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread else math.nan


def ranks(values: Floats) -> Floats:
    """The place of each value in order, from 0; equal values share the mean of their places."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    return np.asarray((ends - (counts + 1) / 2)[inverse])


def top1(reference: Floats, values: Floats) -> NDArray[np.bool_]:
    """For each row [rows, classes] whether both have their largest number in the same place. False for a row of NaN."""
    same = reference.argmax(axis=1) == values.argmax(axis=1)
    return np.asarray(same & finite_rows(values) & finite_rows(reference))


def kl(reference: Floats, values: Floats) -> Floats:
    """Kullback-Leibler divergence in nats from each row of the reference, both logits [rows, classes]."""
    parts = []
    for start in range(0, len(reference), _BLOCK):
        p, q = log_softmax(reference[start : start + _BLOCK]), log_softmax(values[start : start + _BLOCK])
        with np.errstate(invalid="ignore", over="ignore"):
            parts.append((np.exp(p) * (p - q)).sum(axis=1))
    return np.concatenate(parts) if parts else np.zeros(0)


def surprise(logits: Floats, targets: Ints) -> Floats:
    """Minus the log-probability in nats of ``targets`` [rows] under ``logits`` [rows, classes]."""
    parts = []
    for start in range(0, len(logits), _BLOCK):
        block = log_softmax(logits[start : start + _BLOCK])
        parts.append(-block[np.arange(len(block)), targets[start : start + _BLOCK]])
    return np.concatenate(parts) if parts else np.zeros(0)


def perplexity(surprises: Floats) -> float:
    """e to the mean surprise; infinity where that is too large for a float."""
    with np.errstate(over="ignore"):
        return float(np.exp(surprises.mean())) if len(surprises) else math.nan


def offset(reference: Floats, values: Floats) -> Floats:
    """How far all logits of a row moved together, in standard deviations of the reference's row.

    A softmax doesn't see it, and neither do top-1, KL and perplexity; but sampling with a penalty, a bias or a
    threshold on raw logits does, and float16 loses its digits.
    """
    spread = reference.astype(np.float64).std(axis=1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        moved = (values.astype(np.float64) - reference).mean(axis=1)
        return np.asarray(np.abs(moved) / spread)


def log_softmax(logits: Floats) -> Floats:
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        lowered = wide - wide.max(axis=1, keepdims=True)
        return np.asarray(lowered - np.log(np.exp(lowered).sum(axis=1, keepdims=True)))


def _lengths(rows: Floats) -> Floats:
    return np.asarray(np.sqrt((rows * rows).sum(axis=1)))


def _pairs(rows: Floats) -> Floats:
    wide = rows.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        unit = wide / _lengths(wide)[:, None]
        return np.asarray((unit @ unit.T)[np.triu_indices(len(rows), 1)])
