"""Softmax regression in whole numbers, so that another processor gives the same weights, bit for bit.

Sums of floats depend on how a BLAS splits them; sums of integers don't. Weights are fixed-point numbers, and
a probability is rounded to the same grid before it moves anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
SCALE = 1 << 20
"""One, in fixed point."""


def probabilities(weights: Whole, bias: Whole, features: Whole) -> NDArray[np.float64]:
    """Rows of class probabilities; ``weights`` is buckets x classes, in fixed point."""
    logits = (features @ weights + bias) / SCALE
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def train(features: Whole, labels: Whole, classes: int, epochs: int, step: int, decay: int) -> tuple[Whole, Whole]:
    """Full-batch descent. The step is 2**-``step``, and each epoch takes 2**-``decay`` of the weights away."""
    weights = np.zeros((features.shape[1], classes), dtype=np.int64)
    bias = np.zeros(classes, dtype=np.int64)
    wanted = np.eye(classes, dtype=np.int64)[labels] * SCALE
    for _ in range(epochs):
        error = wanted - np.rint(probabilities(weights, bias, features) * SCALE).astype(np.int64)
        weights += (features.T @ error >> step) - (weights >> decay)
        bias += error.sum(axis=0) >> step
    return weights, bias
