"""What the recipe asks for: the trained files, and the features of a prompt."""

from __future__ import annotations

import json
from pathlib import Path

from models.recipes.files import write
from models.recipes.intent.graph import INPUT
from models.recipes.router import data, features, train
from sluiceway.pipeline.validate.encode import Features

ROWS = data.PROMPTS.with_name("validate.jsonl")


def build(out: Path) -> None:
    """Writes model.onnx and manifest.json into ``out``. Raises Refused when they aren't fit to be published."""
    content, manifest = train.build(data.read(data.PROMPTS))
    write(out, content, manifest)


def encoder() -> Features:
    return Features(INPUT, features.vectors)


def rows() -> str:
    """The held-out prompts as ``validate.jsonl`` has them."""
    _, held = data.divide(data.read(data.PROMPTS))
    return "".join(json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n" for label, _, text in held)


if __name__ == "__main__":
    ROWS.write_text(rows(), encoding="utf-8")
