"""Draws a BERT encoder: embeddings, layers of attention and feed-forward, and a head."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from sluiceway.pipeline.graphs.builder import FLOAT, INT64, Builder
from sluiceway.pipeline.graphs.config import BertConfig
from sluiceway.pipeline.graphs.weights import Weights

LOWEST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class BertHead:
    """``kind``: "embedding" or "classifier". ``pooling``: "mean" over the mask, or "cls", the first token.

    ``token_types``: whether the graph has the input token_type_ids; without it every token is of type 0.
    """

    kind: str
    pooling: str = "mean"
    normalize: bool = True
    token_types: bool = False


def draw_bert(builder: Builder, config: BertConfig, weights: Weights, head: BertHead) -> None:
    """Inputs ``input_ids``, ``attention_mask`` int64 [batch, length] (and ``token_type_ids``).

    Outputs of an embedding: ``sentence_embedding`` [batch, hidden], ``last_hidden_state`` [batch, length, hidden];
    of a classifier: ``logits`` [batch, labels].
    """
    ids = builder.input("input_ids", INT64, ["batch", "length"])
    mask = builder.input("attention_mask", INT64, ["batch", "length"])
    types = builder.input("token_type_ids", INT64, ["batch", "length"]) if head.token_types else None
    hidden = _embeddings(builder, config, weights, ids, types)
    with builder.scope("mask"):
        seen = builder.op("Cast", mask, to=int(FLOAT))
        hole = builder.op("Sub", builder.number(1.0), builder.op("Unsqueeze", seen, builder.ints(1, 2)))
        bias = builder.op("Mul", hole, builder.number(LOWEST))
    for number in range(config.layers):
        hidden = _layer(builder, config, weights, hidden, bias, f"encoder.layer.{number}")
    if head.kind == "classifier":
        _classify(builder, config, weights, hidden)
    else:
        _embed(builder, config, weights, hidden, seen, head)


def _embeddings(
    builder: Builder, config: BertConfig, weights: Weights, ids: ir.Value, types: ir.Value | None
) -> ir.Value:
    def table(kind: str, rows: int) -> tuple[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        name = f"embeddings.{kind}_embeddings.weight"
        return name, weights.take(name, rows, config.hidden)

    with builder.scope("embeddings"):
        words = builder.op("Gather", builder.weight(*table("word", config.vocabulary)), ids, axis=0)
        kinds = table("token_type", config.types)
        if types is None:
            kind = builder.weight(kinds[0], kinds[1][0])
        else:
            kind = builder.op("Gather", builder.weight(*kinds), types, axis=0)
        # A longer text than the table fails in this Gather, by name; it isn't answered from wrong positions.
        length = builder.op("Squeeze", builder.dim(ids, 1), builder.ints(0))
        slots = builder.op("Range", builder.whole(0), length, builder.whole(1))
        places = builder.op("Gather", builder.weight(*table("position", config.positions)), slots, axis=0)
        summed = builder.op("Add", builder.op("Add", words, kind), places)
    return _norm(builder, config, weights, summed, "embeddings.LayerNorm")


def _layer(
    builder: Builder, config: BertConfig, weights: Weights, hidden: ir.Value, bias: ir.Value, name: str
) -> ir.Value:
    wide, size = config.intermediate, config.hidden
    mixed = _attention(builder, config, weights, hidden, bias, f"{name}.attention.self")
    mixed = _linear(builder, weights, mixed, f"{name}.attention.output.dense", size, size)
    with builder.scope(f"{name}.attention.output"):
        mixed = builder.op("Add", mixed, hidden)
    mixed = _norm(builder, config, weights, mixed, f"{name}.attention.output.LayerNorm")
    inner = _gelu(builder, _linear(builder, weights, mixed, f"{name}.intermediate.dense", wide, size), name)
    outer = _linear(builder, weights, inner, f"{name}.output.dense", size, wide)
    with builder.scope(f"{name}.output"):
        outer = builder.op("Add", outer, mixed)
    return _norm(builder, config, weights, outer, f"{name}.output.LayerNorm")


def _attention(
    builder: Builder, config: BertConfig, weights: Weights, hidden: ir.Value, bias: ir.Value, name: str
) -> ir.Value:
    size, width = config.hidden, config.hidden // config.heads

    def heads(kind: str, *order: int) -> ir.Value:
        value = _linear(builder, weights, hidden, f"{name}.{kind}", size, size)
        with builder.scope(name):
            return builder.op("Transpose", builder.reshape(value, 0, 0, config.heads, width), perm=order)

    query, key, value = heads("query", 0, 2, 1, 3), heads("key", 0, 2, 3, 1), heads("value", 0, 2, 1, 3)
    with builder.scope(name):
        scores = builder.op("Div", builder.op("MatMul", query, key), builder.number(math.sqrt(width)))
        shares = builder.op("Softmax", builder.op("Add", scores, bias), axis=-1)
        mixed = builder.op("Transpose", builder.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        return builder.reshape(mixed, 0, 0, size)


def _gelu(builder: Builder, value: ir.Value, name: str) -> ir.Value:
    """x (1 + erf(x / sqrt 2)) / 2, in the order of nodes that runtimes know to fuse."""
    with builder.scope(f"{name}.intermediate"):
        bell = builder.op("Erf", builder.op("Div", value, builder.number(math.sqrt(2.0))))
        twice = builder.op("Mul", value, builder.op("Add", bell, builder.number(1.0)))
        return builder.op("Mul", twice, builder.number(0.5))


def _embed(
    builder: Builder, config: BertConfig, weights: Weights, hidden: ir.Value, seen: ir.Value, head: BertHead
) -> None:
    weights.leave("pooler.dense.weight", "pooler.dense.bias")  # a sentence embedding is pooled from the tokens
    with builder.scope("pooling"):
        if head.pooling == "cls":
            pooled = builder.op("Gather", hidden, builder.whole(0), axis=1)
        else:
            share = builder.op("Unsqueeze", seen, builder.ints(2))
            total = builder.op("ReduceSum", builder.op("Mul", hidden, share), builder.ints(1), keepdims=0)
            count = builder.op("ReduceSum", seen, builder.ints(1), keepdims=1)
            pooled = builder.op("Div", total, builder.op("Max", count, builder.number(1e-9)))
        if head.normalize:
            square = builder.op("ReduceSum", builder.op("Mul", pooled, pooled), builder.ints(-1), keepdims=1)
            length = builder.op("Max", builder.op("Sqrt", square), builder.number(1e-12))
            pooled = builder.op("Div", pooled, length)
    builder.output("sentence_embedding", pooled, FLOAT, ["batch", config.hidden])
    builder.output("last_hidden_state", hidden, FLOAT, ["batch", "length", config.hidden])


def _classify(builder: Builder, config: BertConfig, weights: Weights, hidden: ir.Value) -> None:
    count = len(config.labels)
    with builder.scope("pooler"):
        first = builder.op("Gather", hidden, builder.whole(0), axis=1)
    first = _linear(builder, weights, first, "pooler.dense", config.hidden, config.hidden)
    with builder.scope("pooler"):
        first = builder.op("Tanh", first)
    logits = _linear(builder, weights, first, "classifier", count, config.hidden)
    builder.output("logits", logits, FLOAT, ["batch", count])


def _linear(builder: Builder, weights: Weights, value: ir.Value, name: str, out: int, into: int) -> ir.Value:
    return builder.linear(value, name, weights.take(f"{name}.weight", out, into), weights.take(f"{name}.bias", out))


def _norm(builder: Builder, config: BertConfig, weights: Weights, value: ir.Value, name: str) -> ir.Value:
    scale, shift = (weights.take(f"{name}.{part}", config.hidden) for part in ("weight", "bias"))
    with builder.scope(name):
        pair = builder.weight(f"{name}.weight", scale), builder.weight(f"{name}.bias", shift)
        return builder.op("LayerNormalization", value, *pair, axis=-1, epsilon=config.eps)
