"""What the recipe asks for: the trained files, and the features of a message."""

from __future__ import annotations

import json
from pathlib import Path

from models.recipes.files import write
from models.recipes.injection import data, train
from models.recipes.intent.graph import INPUT
from models.recipes.router import features
from sluiceway.pipeline.validate.encode import Features

ROWS = data.PROMPTS.with_name("validate.jsonl")


def build(out: Path) -> None:
    """Writes model.onnx and manifest.json into ``out``. Raises Refused when they aren't fit to be published."""
    content, manifest = train.build(data.read())
    write(out, content, manifest)


def encoder() -> Features:
    return Features(INPUT, lambda texts: features.vectors(texts, train.LENGTHS, train.BUCKETS, train.CAP))


def rows() -> str:
    """The held-out messages as ``validate.jsonl`` has them."""
    _, held = data.divide(data.read())
    return "".join(json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n" for label, _, text in held)


if __name__ == "__main__":
    ROWS.write_text(rows(), encoding="utf-8")
