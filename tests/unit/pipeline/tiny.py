"""Tiny models for tests, made by hand: a sentence encoder, a decoder with a tied head, a linear classifier.

Each writes ``folder``/model.onnx (opset 17, IR 8 unless told otherwise) with symbolic batch and length, and returns
its Model. Weights come from a seed, so the same call writes the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from sluiceway.pipeline.types import Model

IDS = [("input_ids", ["batch", "length"]), ("attention_mask", ["batch", "length"])]


class Graph:
    """Nodes and weights as they are written down, in order."""

    def __init__(self, seed: int = 7) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, NDArray[Any]] = {}
        self.random = np.random.default_rng(seed)

    def weight(self, name: str, *shape: int, scale: float = 0.3) -> str:
        self.weights[name] = (self.random.standard_normal(shape) * scale).astype(np.float32)
        return name

    def constant(self, name: str, values: ArrayLike) -> str:
        self.weights[name] = np.asarray(values)
        return name

    def op(self, kind: str, *inputs: str, out: str = "", **attributes: Any) -> str:  # noqa: ANN401 - as onnx takes them
        out = out or f"val_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], name=f"node_{kind}_{len(self.nodes)}", **attributes))
        return out

    def model(self, inputs: list[Any], outputs: list[Any], opset: int = 17, ir: int = 8) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "tiny",
            [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in inputs],
            [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in outputs],
            [numpy_helper.from_array(values, name) for name, values in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def save(folder: Path, model: onnx.ModelProto, data: str | None = None) -> Model:
    """``data``: name of the file that takes the weights, for external data."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.onnx"
    if data is None:
        onnx.save_model(model, str(path))
    else:
        onnx.save_model(model, str(path), save_as_external_data=True, location=data, size_threshold=64)
    return Model(path)


def tokens(names: list[Any] = IDS) -> list[Any]:
    return [(name, TensorProto.INT64, dims) for name, dims in names]


def encoder_proto(vocabulary: int = 96, hidden: int = 64, opset: int = 17, ir: int = 8) -> onnx.ModelProto:
    """Table, two layers with a residual, mean over what the mask keeps: `sentence_embedding` (batch, hidden)."""
    g = Graph()
    x = g.op("Gather", g.weight("table", vocabulary, hidden), "input_ids")
    for layer in range(2):
        up = g.op("Relu", g.op("MatMul", x, g.weight(f"up_{layer}", hidden, 2 * hidden, scale=0.1)))
        x = g.op("Add", x, g.op("MatMul", up, g.weight(f"down_{layer}", 2 * hidden, hidden, scale=0.1)))
    mask = g.op("Unsqueeze", g.op("Cast", "attention_mask", to=TensorProto.FLOAT), g.constant("last", [2]))
    total = g.op("ReduceSum", g.op("Mul", x, mask), g.constant("middle", [1]), keepdims=0)
    g.op("Div", total, g.op("ReduceSum", mask, "middle", keepdims=0), out="sentence_embedding")
    return g.model(tokens(), [("sentence_embedding", TensorProto.FLOAT, ["batch", hidden])], opset, ir)


def encoder(folder: Path, vocabulary: int = 96, hidden: int = 64, data: str | None = None) -> Model:
    return save(folder, encoder_proto(vocabulary, hidden), data)


def decoder_proto(vocabulary: int = 256, hidden: int = 64, layers: int = 2, tied: bool = True) -> onnx.ModelProto:
    """A causal decoder without cache: `logits` (batch, length, vocabulary), its head the table behind a Transpose."""
    g = Graph()
    x = g.op("Gather", g.weight("table", vocabulary, hidden), "input_ids")
    mask = _causal_mask(g)
    for layer in range(layers):
        x = g.op("Add", x, _attention(g, _norm(g, x, hidden, f"a{layer}"), mask, hidden, layer))
        n = _norm(g, x, hidden, f"b{layer}")
        up = g.op("Relu", g.op("MatMul", n, g.weight(f"up_{layer}", hidden, 2 * hidden, scale=0.1)))
        x = g.op("Add", x, g.op("MatMul", up, g.weight(f"down_{layer}", 2 * hidden, hidden, scale=0.1)))
    head = g.op("Transpose", "table", perm=[1, 0]) if tied else g.weight("head", hidden, vocabulary)
    g.op("MatMul", _norm(g, x, hidden, "last"), head, out="logits")
    return g.model(tokens(), [("logits", TensorProto.FLOAT, ["batch", "length", vocabulary])])


def decoder(folder: Path, vocabulary: int = 256, hidden: int = 64, tied: bool = True, data: str | None = None) -> Model:
    return save(folder, decoder_proto(vocabulary, hidden, tied=tied), data)


def _causal_mask(g: Graph) -> str:
    """(batch, 1, length, length): -10000 where a token may not look."""
    size = g.op("Gather", g.op("Shape", "input_ids"), g.constant("one", 1))
    steps = g.op("Range", g.constant("zero", np.int64(0)), size, "one")
    later = g.op(
        "Less", g.op("Unsqueeze", steps, g.constant("ax1", [1])), g.op("Unsqueeze", steps, g.constant("ax0", [0]))
    )
    padded = g.op("Equal", g.op("Unsqueeze", "attention_mask", g.constant("ax12", [1, 2])), "zero")
    both = g.op("Or", later, padded)
    return g.op("Where", both, g.constant("low", np.float32(-1e4)), g.constant("none", np.float32(0)))


def _norm(g: Graph, x: str, hidden: int, name: str) -> str:
    g.constant(f"{name}_gain", np.ones(hidden, np.float32))
    return g.op("LayerNormalization", x, f"{name}_gain", g.constant(f"{name}_bias", np.zeros(hidden, np.float32)))


def _attention(g: Graph, x: str, mask: str, hidden: int, layer: int) -> str:
    """Two heads."""
    shape = g.constant(f"split_{layer}", np.array([0, 0, 2, hidden // 2]))
    parts = []
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        made = g.op("MatMul", x, g.weight(f"{name}_{layer}", hidden, hidden, scale=0.1))
        parts.append(g.op("Transpose", g.op("Reshape", made, shape), perm=perm))
    q, k, v = parts
    scores = g.op("Div", g.op("MatMul", q, k), g.constant(f"root_{layer}", np.float32((hidden // 2) ** 0.5)))
    seen = g.op("MatMul", g.op("Softmax", g.op("Add", scores, mask), axis=-1), v)
    merged = g.op(
        "Reshape", g.op("Transpose", seen, perm=[0, 2, 1, 3]), g.constant(f"merge_{layer}", np.array([0, 0, hidden]))
    )
    return g.op("MatMul", merged, g.weight(f"o_{layer}", hidden, hidden, scale=0.1))


def classifier_proto(features: int = 64, labels: int = 2) -> onnx.ModelProto:
    g = Graph()
    scores = g.op("Gemm", "features", g.weight("coef", features, labels), g.weight("intercept", labels))
    g.op("Softmax", scores, out="probabilities", axis=-1)
    inputs = [("features", TensorProto.FLOAT, ["batch", features])]
    return g.model(inputs, [("probabilities", TensorProto.FLOAT, ["batch", labels])])


def classifier(folder: Path, features: int = 64, labels: int = 2) -> Model:
    return save(folder, classifier_proto(features, labels))


def tokenizer(folder: Path, size: int = 96) -> Path:
    """A tokenizer.json of ``size`` words, `[PAD]` and `[UNK]` first; words are split at white space."""
    vocabulary = {"[PAD]": 0, "[UNK]": 1} | {f"word{number}": number for number in range(2, size)}
    return word_level(folder, vocabulary)


def word_level(folder: Path, vocabulary: dict[str, int]) -> Path:
    """A tokenizer.json of these words, `[UNK]` among them."""
    found: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(found), "utf-8")
    return path
