"""Draws a decoder of the Llama family: RMS norms, rotary positions, grouped attention with a cache, gated layers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from sluiceway.pipeline.graphs.builder import BOOL, FLOAT, INT64, Builder, Dim
from sluiceway.pipeline.graphs.config import LlamaConfig
from sluiceway.pipeline.graphs.weights import Weights

LOWEST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class _Step:
    """What all layers share: the turn of each position [batch, 1, length, head_dim], and the mask of what is seen."""

    cos: ir.Value
    sin: ir.Value
    bias: ir.Value


def draw_llama(builder: Builder, config: LlamaConfig, weights: Weights, cache: bool) -> None:
    """Inputs int64 ``input_ids`` and ``position_ids`` [batch, length], ``attention_mask`` [batch, total].

    total = past + length. With a cache also, for each layer N, float32 ``past_key_values.N.key`` and ``.value``
    [batch, kv_heads, past, head_dim], and the outputs ``present.N.key`` and ``.value`` with total in place of past.
    Output ``logits`` [batch, length, vocabulary]. Rows may be padded on the left: position_ids then count
    from the first token that the mask shows.
    """
    total = "total" if cache else "length"
    ids = builder.input("input_ids", INT64, ["batch", "length"])
    mask = builder.input("attention_mask", INT64, ["batch", total])
    positions = builder.input("position_ids", INT64, ["batch", "length"])
    past = [_past(builder, config, number) for number in range(config.layers)] if cache else []
    table = builder.weight("model.embed_tokens.weight", _table(config, weights, "model.embed_tokens.weight"))
    with builder.scope("model.embed_tokens"):
        hidden = builder.op("Gather", table, ids, axis=0)
    cos, sin = _turns(builder, config, positions)
    step = _Step(cos, sin, _mask(builder, ids, mask))
    presents = []
    for number in range(config.layers):
        name = f"model.layers.{number}"
        hidden, present = _layer(builder, config, weights, hidden, step, past[number] if cache else None, name)
        presents.append(present)
    hidden = _norm(builder, config, weights, hidden, "model.norm")
    builder.output(
        "logits", _head(builder, config, weights, hidden, table), FLOAT, ["batch", "length", config.vocabulary]
    )
    for number, pair in enumerate(presents if cache else []):
        for kind, value in zip(("key", "value"), pair, strict=True):
            builder.output(f"present.{number}.{kind}", value, FLOAT, _cache_shape(config, "total"))


def _cache_shape(config: LlamaConfig, length: str) -> list[Dim]:
    return ["batch", config.kv_heads, length, config.head_dim]


def _past(builder: Builder, config: LlamaConfig, number: int) -> tuple[ir.Value, ir.Value]:
    shape = _cache_shape(config, "past")
    key = builder.input(f"past_key_values.{number}.key", FLOAT, shape)
    return key, builder.input(f"past_key_values.{number}.value", FLOAT, shape)


def _table(config: LlamaConfig, weights: Weights, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return weights.take(name, config.vocabulary, config.hidden)


def _turns(builder: Builder, config: LlamaConfig, positions: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Cosine and sine of position times frequency, each frequency twice: the halves of a head turn together."""
    with builder.scope("model.rotary"):
        exponents = np.arange(0, config.head_dim, 2, dtype=np.float64) / config.head_dim
        rates = builder.weight("model.rotary.rates", (config.theta**-exponents).astype(np.float32))
        at = builder.op("Unsqueeze", builder.op("Cast", positions, to=int(FLOAT)), builder.ints(1, 3))
        angles = builder.op("Mul", at, rates)
        angles = builder.concat(angles, angles, axis=-1)
        return builder.op("Cos", angles), builder.op("Sin", angles)


def _mask(builder: Builder, ids: ir.Value, mask: ir.Value) -> ir.Value:
    """[batch, 1, 1, length, total]: 0 where a token sees another, else the lowest float.

    Not infinity: a row of padding sees nothing, and its softmax must not be NaN.
    """
    with builder.scope("mask"):
        total = builder.op("Squeeze", builder.dim(mask, 1), builder.ints(0))
        length = builder.op("Squeeze", builder.dim(ids, 1), builder.ints(0))
        slots = builder.op("Range", builder.whole(0), total, builder.whole(1))
        own = builder.op("Range", builder.op("Sub", total, length), total, builder.whole(1))
        before = builder.op("LessOrEqual", slots, builder.op("Unsqueeze", own, builder.ints(1)))
        there = builder.op("Unsqueeze", builder.op("Cast", mask, to=int(BOOL)), builder.ints(1, 2, 3))
        return builder.op("Where", builder.op("And", there, before), builder.number(0.0), builder.number(LOWEST))


def _layer(
    builder: Builder,
    config: LlamaConfig,
    weights: Weights,
    hidden: ir.Value,
    step: _Step,
    past: tuple[ir.Value, ir.Value] | None,
    name: str,
) -> tuple[ir.Value, tuple[ir.Value, ir.Value]]:
    normed = _norm(builder, config, weights, hidden, f"{name}.input_layernorm")
    mixed, present = _attention(builder, config, weights, normed, step, past, f"{name}.self_attn")
    with builder.scope(name):
        hidden = builder.op("Add", hidden, mixed)
    normed = _norm(builder, config, weights, hidden, f"{name}.post_attention_layernorm")
    size, wide, bias = config.hidden, config.intermediate, config.mlp_bias
    gate = _linear(builder, weights, normed, f"{name}.mlp.gate_proj", wide, size, bias)
    up = _linear(builder, weights, normed, f"{name}.mlp.up_proj", wide, size, bias)
    with builder.scope(f"{name}.mlp"):
        inner = builder.op("Mul", builder.op("Mul", gate, builder.op("Sigmoid", gate)), up)
    outer = _linear(builder, weights, inner, f"{name}.mlp.down_proj", size, wide, bias)
    with builder.scope(name):
        return builder.op("Add", hidden, outer), present


def _attention(
    builder: Builder,
    config: LlamaConfig,
    weights: Weights,
    hidden: ir.Value,
    step: _Step,
    past: tuple[ir.Value, ir.Value] | None,
    name: str,
) -> tuple[ir.Value, tuple[ir.Value, ir.Value]]:
    width = config.head_dim

    def heads(kind: str, count: int) -> ir.Value:
        value = _linear(builder, weights, hidden, f"{name}.{kind}", count * width, config.hidden, config.attention_bias)
        with builder.scope(name):
            return builder.op("Transpose", builder.reshape(value, 0, 0, count, width), perm=[0, 2, 1, 3])

    query, key, value = (
        heads("q_proj", config.heads),
        heads("k_proj", config.kv_heads),
        heads("v_proj", config.kv_heads),
    )
    with builder.scope(name):
        query, key = _turned(builder, config, query, step), _turned(builder, config, key, step)
        if past is not None:
            key, value = builder.concat(past[0], key, axis=2), builder.concat(past[1], value, axis=2)
        mixed = _attend(builder, config, query, key, value, step)
    size = config.heads * width
    return _linear(builder, weights, mixed, f"{name}.o_proj", config.hidden, size, config.attention_bias), (key, value)


def _attend(
    builder: Builder, config: LlamaConfig, query: ir.Value, key: ir.Value, value: ir.Value, step: _Step
) -> ir.Value:
    """Several heads of queries read one head of keys: by an axis of their own, so that the cache isn't copied."""
    group = config.heads // config.kv_heads
    # [batch, heads, length, width] -> [batch, kv_heads, group, length, width]: a 0 would keep the wrong axis here.
    shape = builder.concat(
        builder.dim(query, 0),
        builder.ints(config.kv_heads, group),
        builder.dim(query, 2),
        builder.ints(config.head_dim),
        axis=0,
    )
    grouped = builder.op("Reshape", query, shape)
    turned = builder.op("Unsqueeze", builder.op("Transpose", key, perm=[0, 1, 3, 2]), builder.ints(2))
    scores = builder.op("Mul", builder.op("MatMul", grouped, turned), builder.number(1 / math.sqrt(config.head_dim)))
    shares = builder.op("Softmax", builder.op("Add", scores, step.bias), axis=-1)
    mixed = builder.op("MatMul", shares, builder.op("Unsqueeze", value, builder.ints(2)))
    mixed = builder.op("Transpose", mixed, perm=[0, 3, 1, 2, 4])
    return builder.reshape(mixed, 0, 0, config.heads * config.head_dim)


def _turned(builder: Builder, config: LlamaConfig, value: ir.Value, step: _Step) -> ir.Value:
    half = config.head_dim // 2
    first = builder.op("Slice", value, builder.ints(0), builder.ints(half), builder.ints(3))
    second = builder.op("Slice", value, builder.ints(half), builder.ints(2 * half), builder.ints(3))
    across = builder.concat(builder.op("Neg", second), first, axis=-1)
    return builder.op("Add", builder.op("Mul", value, step.cos), builder.op("Mul", across, step.sin))


def _head(builder: Builder, config: LlamaConfig, weights: Weights, hidden: ir.Value, table: ir.Value) -> ir.Value:
    """A tied head reads the one table through a Transpose; the pass `fold` makes it a weight of its own."""
    if not config.tied:
        return builder.linear(hidden, "lm_head", _table(config, weights, "lm_head.weight"), None)
    weights.leave("lm_head.weight")
    with builder.scope("lm_head"):
        return builder.op("MatMul", hidden, builder.op("Transpose", table, perm=[1, 0]))


def _linear(
    builder: Builder, weights: Weights, value: ir.Value, name: str, out: int, into: int, biased: bool
) -> ir.Value:
    bias = weights.take(f"{name}.bias", out) if biased else None
    return builder.linear(value, name, weights.take(f"{name}.weight", out, into), bias)


def _norm(builder: Builder, config: LlamaConfig, weights: Weights, value: ir.Value, name: str) -> ir.Value:
    scale = weights.take(f"{name}.weight", config.hidden)
    with builder.scope(name):
        mean = builder.mean_last(builder.op("Pow", value, builder.number(2.0)))
        length = builder.op("Sqrt", builder.op("Add", mean, builder.number(config.eps)))
        return builder.op("Mul", builder.op("Div", value, length), builder.weight(f"{name}.weight", scale))
