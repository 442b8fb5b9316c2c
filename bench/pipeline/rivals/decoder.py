"""Runs among the builder's packages: a GGUF file as transformers loads it, and what the loaded model answers.

    python decoder.py GGUF TEXT OUT

Into OUT go the float32 checkpoint (``checkpoint/``), the ids of the text (``ids.json``) and their logits
(``reference.npy``). The logits are of the very model whose weights are written: an exporter that checks itself by its
own reading of a folder doesn't see what it misread.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main(gguf: Path, text: Path, out: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()
    ids = tokenizer(text.read_text("utf-8"))["input_ids"]
    logits = _logits(model, ids)
    folder = out / "checkpoint"
    _write_down(model, folder)
    tokenizer.save_pretrained(folder)
    _say_base_twice(folder / "config.json")
    again = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, use_safetensors=True).eval()
    moved = float(np.abs(_logits(again, ids) - logits).max())
    if moved:
        raise SystemExit(f"the checkpoint that was written answers otherwise than the model it is of: by {moved}")
    np.save(out / "reference.npy", logits)
    (out / "ids.json").write_text(json.dumps(ids), "utf-8")


def _logits(model: Any, ids: list[int]) -> Any:  # noqa: ANN401 - these libraries aren't among our own packages
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].numpy()


def _write_down(model: Any, folder: Path) -> None:  # noqa: ANN401
    """transformers refuses to save what came from GGUF, though its weights are plain floats by now."""
    for name in ("hf_quantizer", "quantization_method"):
        if hasattr(model, name):
            delattr(model, name)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.is_quantized = False
    model.save_pretrained(folder, safe_serialization=True)


def _say_base_twice(path: Path) -> None:
    """Loaders of before transformers 5 read rope_theta alone, and take 10000 in silence where it isn't there."""
    config = json.loads(path.read_text("utf-8"))
    config["rope_theta"] = config["rope_parameters"]["rope_theta"]
    path.write_text(json.dumps(config, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
