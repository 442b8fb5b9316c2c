"""Writes GGUF files by the format's definition, for tests: facts, then tensors in the kinds that are asked for."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.unit.pipeline.graphs import tiny

Floats = NDArray[np.float32]
F32, F16, Q4_0, Q4_1, Q8_0 = 0, 1, 2, 3, 8


def packed(values: Floats, kind: int) -> tuple[bytes, Floats]:
    """The bytes of ``values`` in that kind, and the numbers that they stand for, worked out one by one."""
    if kind == F32:
        return values.tobytes(), values
    if kind == F16:
        return values.astype(np.float16).tobytes(), values.astype(np.float16).astype(np.float32)
    blocks = [_block([float(value) for value in block], kind) for block in values.reshape(-1, 32)]
    told = np.array([number for _, numbers in blocks for number in numbers], np.float32)
    return b"".join(data for data, _ in blocks), told.reshape(values.shape)


def _block(values: Sequence[float], kind: int) -> tuple[bytes, list[float]]:
    low, high = min(values), max(values)
    if kind == Q8_0:
        step = _half(max(abs(low), abs(high)) / 127)
        whole = [max(-127, min(127, round(value / step))) for value in values]
        return struct.pack("<e32b", step, *whole), [step * number for number in whole]
    step = _half((high - low) / 15) if kind == Q4_1 else _half(max(abs(low), abs(high)) / 7)
    start = _half(low) if kind == Q4_1 else -8 * step
    whole = [max(0, min(15, round((value - start) / step))) for value in values]
    nibbles = bytes(whole[place] | whole[place + 16] << 4 for place in range(16))
    head = struct.pack("<ee", step, start) if kind == Q4_1 else struct.pack("<e", step)
    return head + nibbles, [step * number + start for number in whole]


def _half(value: float) -> float:
    return float(np.float16(value))


def write(path: Path, facts: Mapping[str, Any], tensors: Mapping[str, tuple[tuple[int, ...], int, bytes]]) -> Path:
    """``tensors``: name -> shape as numpy has it, kind, bytes."""
    out = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(facts))
    for key, value in facts.items():
        out += _text(key) + _value(value)
    offset = 0
    for name, (shape, kind, data) in tensors.items():
        out += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], kind, offset)
        offset += -(-len(data) // 32) * 32
    out += bytes(-len(out) % 32)
    for _, _, data in tensors.values():
        out += data + bytes(-len(data) % 32)
    path.write_bytes(out)
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:  # noqa: ANN401 - any fact
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, list):
        inner = [_value(item) for item in value]
        return (
            struct.pack("<I", 9) + inner[0][:4] + struct.pack("<Q", len(value)) + b"".join(item[4:] for item in inner)
        )
    return struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value)


def facts(**changes: object) -> dict[str, Any]:
    """Of the tiny decoder, widened to what blocks of 32 divide."""
    words = ["<end>", *(chr(letter) for letter in range(ord("a"), ord("z") + 1)), "Ġ", "ab", "Ġab"]
    words += [str(digit) for digit in range(10)]
    return {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.context_length": 64,
        "llama.embedding_length": 64,
        "llama.feed_forward_length": 96,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 20000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": [3, *([1] * (len(words) - 1))],
        "tokenizer.ggml.merges": ["a b", "Ġ ab"],
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.chat_template": "{{ messages }}",
    } | changes


def llama(rng: np.random.Generator, words: int) -> dict[str, Floats]:
    """A checkpoint's names and order of rows."""
    size, wide, kv = 64, 96, 32
    t = {"model.embed_tokens.weight": tiny.normal(rng, words, size), "model.norm.weight": tiny.scale(rng, size)}
    for number in range(2):
        name = f"model.layers.{number}"
        for kind, out in (("q", size), ("k", kv), ("v", kv), ("o", size)):
            t[f"{name}.self_attn.{kind}_proj.weight"] = np.asarray(tiny.normal(rng, out, size) / 2, np.float32)
        for kind, out, into in (("gate", wide, size), ("up", wide, size), ("down", size, wide)):
            t[f"{name}.mlp.{kind}_proj.weight"] = np.asarray(tiny.normal(rng, out, into) / 2, np.float32)
        for kind in ("input", "post_attention"):
            t[f"{name}.{kind}_layernorm.weight"] = tiny.scale(rng, size)
    return t
