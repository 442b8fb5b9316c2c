"""Adapters of rank 1 for the smallest base: some 150 kB with one module a layer, written by safetensors itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from sluiceway.catalog.lora_bases import LORA_BASES, LoraBase

GEMMA = LORA_BASES["@cf/google/gemma-2b-it-lora"]
MISTRAL = LORA_BASES["@cf/mistral/mistral-7b-instruct-v0.2-lora"]
LLAMA = LORA_BASES["@cf/meta-llama/llama-2-7b-chat-hf-lora"]


def settings(base: LoraBase = GEMMA, **changed: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """adapter_config.json as PEFT writes it."""
    return {
        "alpha_pattern": {}, "auto_mapping": None, "base_model_name_or_path": f"somebody/{base.made_from}",
        "bias": "none", "fan_in_fan_out": False, "inference_mode": True, "init_lora_weights": True,
        "layers_pattern": None, "layers_to_transform": None, "lora_alpha": 16, "lora_dropout": 0.05,
        "modules_to_save": None, "peft_type": "LORA", "r": 1, "rank_pattern": {}, "revision": None,
        "target_modules": ["v_proj"], "task_type": "CAUSAL_LM", "use_dora": False, "use_rslora": False, **changed,
    }  # fmt: skip


def weights(
    base: LoraBase = GEMMA,
    modules: Sequence[str] = ("v_proj",),
    rank: int = 1,
    *,
    layers: Sequence[int] | None = None,
    seed: int = 1,
) -> dict[str, NDArray[np.float16]]:
    """Both matrices of each module of each layer, as float16."""
    random = np.random.default_rng(seed)
    found = {}
    for layer in range(base.layers) if layers is None else layers:
        for path, (width, out) in base.linear.items():
            if path.rpartition(".")[2] in modules:
                name = f"base_model.model.model.layers.{layer}.{path}"
                found[f"{name}.lora_A.weight"] = random.normal(size=(rank, width)).astype(np.float16)
                found[f"{name}.lora_B.weight"] = random.normal(size=(out, rank)).astype(np.float16)
    return found


def write(folder: Path, config: dict[str, Any] | None = None, tensors: dict[str, NDArray[Any]] | None = None) -> Path:
    """The folder with both files, as PEFT saves them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(config or settings(), indent=2), encoding="utf-8")
    save_file(weights() if tensors is None else tensors, folder / "adapter_model.safetensors", {"format": "pt"})
    return folder


def write_raw(folder: Path, header: object, data: bytes = b"") -> Path:
    """The folder with a safetensors file of this header, whatever it is."""
    write(folder)
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    return folder
