"""The shipped configs, and small shapes of which every figure is counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sluiceway.fit.config import shape_of
from sluiceway.fit.shape import Shape

ROOT = Path(__file__).resolve().parents[3]
FIT = ROOT / "models" / "fit"

LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8, "intermediate_size": 12,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip


def config(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIT / f"{name}.json").read_text("utf-8"))
    return found


def shipped(name: str) -> Shape:
    return shape_of(config(name), name)


def llama(**changed: object) -> Shape:
    return shape_of({**LLAMA, **changed}, "config.json")
