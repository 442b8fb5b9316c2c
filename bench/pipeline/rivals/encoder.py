"""Runs among the builder's packages: what a sentence encoder answers as transformers loads it.

    python encoder.py CHECKPOINT SENTENCES OUT

SENTENCES has one a line. Each is asked by itself, so that none is padded; its vector is the mean over its tokens,
brought to length 1, as the model's own modules.json says. OUT/reference.npy: float32 [sentences, hidden];
OUT/ids.json: the token ids of each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer


def main(checkpoint: Path, sentences: Path, out: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModel.from_pretrained(checkpoint, dtype=torch.float32, use_safetensors=True).eval()
    ids = [tokenizer(line)["input_ids"] for line in sentences.read_text("utf-8").splitlines() if line]
    with torch.no_grad():
        means = [model(torch.tensor([each])).last_hidden_state[0].mean(dim=0).numpy() for each in ids]
    np.save(out / "reference.npy", np.stack([mean / np.linalg.norm(mean) for mean in means]))
    (out / "ids.json").write_text(json.dumps(ids), "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
