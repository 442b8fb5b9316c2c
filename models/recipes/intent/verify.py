"""Refuses a file that doesn't answer as the trained weights do. Every check can fail, and ends the run when it does."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray

from models.recipes.intent.graph import INPUT, OUTPUT

TOLERANCE = 1e-4


class Refused(Exception):
    """The file must not be published; the text says why."""


def run(data: bytes, features: NDArray[np.int64] | NDArray[np.float32]) -> NDArray[np.float32]:
    """The file's answer, by onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    (answer,) = session.run([OUTPUT], {INPUT: features.astype(np.float32)})
    return np.asarray(answer)


def check(data: bytes, features: NDArray[np.int64] | NDArray[np.float32], expected: NDArray[np.float64]) -> None:
    """``expected``: the probabilities of the weights, by numpy. Raises Refused."""
    for tensor in onnx.load_from_string(data).graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise Refused(f"weight {tensor.name} lies outside the file")
    answer = run(data, features)
    if answer.shape != expected.shape:
        raise Refused(f"shape {answer.shape}, expected {expected.shape}")
    if not np.isfinite(answer).all():
        raise Refused("an answer is NaN or infinite")
    off = float(np.abs(answer - expected).max())
    if not off <= TOLERANCE:
        raise Refused(f"probabilities differ by {off:.2g}, more than {TOLERANCE:.0e}")
    if (answer.argmax(axis=1) != expected.argmax(axis=1)).any():
        raise Refused("another class wins for some sentence")
