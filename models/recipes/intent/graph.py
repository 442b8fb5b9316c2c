"""The ONNX file: one Gemm and one Softmax over the feature vector."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

INPUT = "features"
OUTPUT = "probabilities"
OPSET = 17
IR_VERSION = 8  # what onnxruntime-web of the last years reads


def model_bytes(weights: NDArray[np.float32], bias: NDArray[np.float32], labels: list[str]) -> bytes:
    """The file's bytes, the same for the same weights: ``features`` [batch, buckets] -> ``probabilities``."""
    buckets, classes = weights.shape
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", [INPUT, "weights", "bias"], ["logits"]),
            helper.make_node("Softmax", ["logits"], [OUTPUT], axis=1),
        ],
        "intent",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["batch", buckets])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", classes])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")],
    )
    return finished(graph, {"labels": ",".join(labels)})


def finished(graph: onnx.GraphProto, properties: dict[str, str]) -> bytes:
    """The checked file of a classifier, with what the Worker reads of it as ``properties``."""
    model = helper.make_model(
        graph,
        producer_name="sluiceway",
        producer_version="1",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    helper.set_model_props(model, properties)
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))
