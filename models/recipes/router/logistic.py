"""Logistic regression over sparse rows, in whole numbers: another processor gives the same weights, bit for bit.

As ``models.recipes.intent.softmax``, but each row has its own value (see features), and only the places that occur
are touched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.recipes.router.features import value

Whole = NDArray[np.int64]
SCALE = 1 << 20
"""One, in fixed point: of weights and probabilities."""
FINE = 10
"""A row's value has so many bits behind the point."""
STEP = 10
"""Each epoch moves by 2**-STEP of the error times a place's rarity; the bias by 2**-BIAS_STEP."""
BIAS_STEP = 8


@dataclass(frozen=True)
class Rows:
    """Prompts as places: row ``i`` has ``places[starts[i]:starts[i] + counts[i]]``, each worth ``values[i]``."""

    places: Whole
    starts: Whole
    counts: Whole
    values: Whole

    @staticmethod
    def of(rows: list[list[int]]) -> Rows:
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        values = np.array([round(value(len(row)) * (1 << FINE)) for row in rows], dtype=np.int64)
        places = np.array([place for row in rows for place in row], dtype=np.int64)
        return Rows(places, np.cumsum(counts) - counts, counts, values)

    def dot(self, weights: Whole) -> Whole:
        """Each row times the weights, in fixed point."""
        return np.asarray(np.add.reduceat(weights[self.places], self.starts) * self.values >> FINE, dtype=np.int64)

    def spread(self, errors: Whole, buckets: int) -> Whole:
        """What the rows' errors come to at each place; exact, since no sum reaches 2**53."""
        each = np.repeat(errors * self.values, self.counts).astype(np.float64)
        return np.bincount(self.places, each, buckets).astype(np.int64) >> FINE


def rarity(rows: Rows, buckets: int) -> Whole:
    """What each place may learn: the square of how many bits the number of rows for each that has it takes.

    An n-gram of every other prompt says little of any of them.
    """
    having = np.bincount(rows.places, minlength=buckets)
    bits = [(len(rows.counts) // max(count, 1)).bit_length() for count in having.tolist()]
    return np.array(bits, dtype=np.int64) ** 2


def train(rows: Rows, wanted: Whole, buckets: int, epochs: int, decay: int) -> tuple[Whole, int]:
    """Weights and bias of label 1, by full-batch descent. Each epoch takes 2**-``decay`` of the weights away."""
    weights = np.zeros(buckets, dtype=np.int64)
    bias = 0
    rare = rarity(rows, buckets)
    for _ in range(epochs):
        logits = (rows.dot(weights) + bias) / SCALE
        error = wanted * SCALE - np.rint(SCALE / (1 + np.exp(-logits))).astype(np.int64)
        weights += (rows.spread(error, buckets) * rare >> STEP) - (weights >> decay)
        bias += int(error.sum()) >> BIAS_STEP
    return weights, bias
