"""Checkpoints of a few thousand numbers, in the shape that real ones have on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{number}" for number in range(60)))
Tensors = dict[str, NDArray[Any]]


def bert_config(**changes: object) -> dict[str, object]:
    return {
        "model_type": "bert",
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "max_position_embeddings": 32,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    } | changes


def llama_config(**changes: object) -> dict[str, object]:
    return {
        "model_type": "llama",
        "vocab_size": len(WORDS),
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "intermediate_size": 40,
        "rms_norm_eps": 1e-5,
        "rope_theta": 5000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
    } | changes


def bert_tensors(rng: np.random.Generator, prefix: str = "", labels: int = 0) -> Tensors:
    size, wide, rows = 16, 24, {"word": len(WORDS), "position": 32, "token_type": 2}
    t: Tensors = {f"embeddings.{kind}_embeddings.weight": normal(rng, count, size) for kind, count in rows.items()}
    t |= norm(rng, "embeddings.LayerNorm", size) | dense(rng, "pooler.dense", size, size)
    for number in range(2):
        name = f"encoder.layer.{number}"
        for kind in ("self.query", "self.key", "self.value", "output.dense"):
            t |= dense(rng, f"{name}.attention.{kind}", size, size)
        t |= norm(rng, f"{name}.attention.output.LayerNorm", size) | norm(rng, f"{name}.output.LayerNorm", size)
        t |= dense(rng, f"{name}.intermediate.dense", wide, size) | dense(rng, f"{name}.output.dense", size, wide)
    t = {f"{prefix}{name}": array for name, array in t.items()}
    return t | dense(rng, "classifier", labels, size) if labels else t


def llama_tensors(rng: np.random.Generator, tied: bool = True, bias: bool = False) -> Tensors:
    size, wide, kv = 24, 40, 8
    t: Tensors = {"model.embed_tokens.weight": normal(rng, len(WORDS), size), "model.norm.weight": scale(rng, size)}
    for number in range(2):
        name = f"model.layers.{number}"
        for kind, out in (("q", size), ("k", kv), ("v", kv), ("o", size)):
            t |= dense(rng, f"{name}.self_attn.{kind}_proj", out, size, bias)
        for kind, out, into in (("gate", wide, size), ("up", wide, size), ("down", size, wide)):
            t |= dense(rng, f"{name}.mlp.{kind}_proj", out, into, False)
        t |= {f"{name}.{kind}_layernorm.weight": scale(rng, size) for kind in ("input", "post_attention")}
    return t if tied else t | {"lm_head.weight": normal(rng, len(WORDS), size)}


def write(folder: Path, config: Mapping[str, object], tensors: Tensors) -> Path:
    """The folder, made now: config.json, model.safetensors, tokenizer.json (one word, one token)."""
    from safetensors.numpy import save_file

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(tensors, folder / "model.safetensors")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


def normal(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return (rng.standard_normal(shape) * 0.4).astype(np.float32)


def scale(rng: np.random.Generator, size: int) -> NDArray[np.float32]:
    return (1 + rng.standard_normal(size) * 0.2).astype(np.float32)


def norm(rng: np.random.Generator, name: str, size: int) -> Tensors:
    return {f"{name}.weight": scale(rng, size), f"{name}.bias": normal(rng, size)}


def dense(rng: np.random.Generator, name: str, out: int, into: int, bias: bool = True) -> Tensors:
    return {f"{name}.weight": normal(rng, out, into)} | ({f"{name}.bias": normal(rng, out)} if bias else {})
