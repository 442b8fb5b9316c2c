"""What the recipe asks for: the trained files, and the features of a text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.recipes.files import write
from models.recipes.intent import features, graph, train
from sluiceway.pipeline.validate.encode import Features

SENTENCES = train.HERE / "sentences.tsv"
ROWS = train.HERE / "validate.jsonl"


def build(out: Path) -> None:
    """Writes model.onnx and manifest.json into ``out``. Raises Refused when they aren't fit to be published."""
    data, manifest = train.build(train.read(SENTENCES))
    write(out, data, manifest)


def encoder() -> Features:
    return Features(graph.INPUT, _vectors)


def rows() -> str:
    """The held-out sentences as ``validate.jsonl`` has them."""
    _, held = train.divide(train.read(SENTENCES))
    return "".join(json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n" for label, _, text in held)


def _vectors(texts: Sequence[str]) -> NDArray[Any]:
    return features.vectors(texts).astype(np.float32)


if __name__ == "__main__":
    ROWS.write_text(rows(), encoding="utf-8")
