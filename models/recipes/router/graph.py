"""The ONNX file of a linear classifier with weights of 8 bits: DequantizeLinear, Gemm, Softmax.

What the Worker needs to make the features of a text stands in the file's properties, so that the file is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from models.recipes.intent.graph import INPUT, OUTPUT, finished
from models.recipes.router import features
from models.recipes.router.logistic import SCALE, Whole

MOST = 127


@dataclass(frozen=True)
class Linear:
    """``weights`` are whole numbers of ``scale``, buckets x labels; ``bias`` is one number per label."""

    weights: NDArray[np.int8]
    scale: np.float32
    bias: NDArray[np.float32]

    @staticmethod
    def of(weights: Whole, bias: int) -> Linear:
        """Two labels from one column: half of it against the first, half for the second."""
        most = int(np.abs(weights).max())
        # Rounded in whole numbers: halves away from zero.
        steps = np.sign(weights) * ((2 * MOST * np.abs(weights) + most) // (2 * most))
        pair = np.stack([-steps, steps], axis=1).astype(np.int8)
        half = bias / SCALE / 2
        return Linear(pair, np.float32(most / MOST / SCALE / 2), np.array([-half, half], dtype=np.float32))

    def probabilities(self, rows: list[list[int]]) -> NDArray[np.float64]:
        """One row per text of its places."""
        sums = np.stack([self.weights[row].sum(axis=0, dtype=np.int64) for row in rows])
        values = np.array([[features.value(len(row))] for row in rows])
        logits = sums * float(self.scale) * values + self.bias.astype(np.float64)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def model_bytes(
    linear: Linear, labels: tuple[str, ...], lengths: tuple[int, ...] = features.LENGTHS, cap: int = features.CAP
) -> bytes:
    """The file's bytes, the same for the same weights: ``features`` [batch, buckets] -> ``probabilities``."""
    buckets, classes = linear.weights.shape
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["weights", "scale"], ["real_weights"]),
            helper.make_node("Gemm", [INPUT, "real_weights", "bias"], ["logits"]),
            helper.make_node("Softmax", ["logits"], [OUTPUT], axis=1),
        ],
        "router",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["batch", buckets])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", classes])],
        [
            numpy_helper.from_array(linear.weights, "weights"),
            numpy_helper.from_array(np.asarray(linear.scale), "scale"),
            numpy_helper.from_array(linear.bias, "bias"),
        ],
    )
    properties = {"labels": ",".join(labels), "lengths": ",".join(map(str, lengths)), "cap": str(cap), "norm": "l2"}
    return finished(graph, properties)
