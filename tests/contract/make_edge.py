"""Writes ``edge.json``: what linear classifiers answer, by onnxruntime, for the Worker's TypeScript to answer too.

    python tests/contract/make_edge.py

``small`` is a model of 64 buckets, whole in the file; ``texts`` are asked of it and of the three that are published.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.recipes.injection import train as injection
from models.recipes.intent import features as intent
from models.recipes.intent import verify
from models.recipes.router import features as router
from models.recipes.router import graph

FILE = Path(__file__).with_name("edge.json")
ARTIFACTS = Path(__file__).parents[2] / "models" / "artifacts"
TEXTS = [
    "",
    " ",
    "Hi",
    "  Fix   this\tfunction \n",
    "Prove that the square root of 2 is irrational.",
    "Translate this letter into French, please",
    "证明根号二是无理数",
    "帮我把这句话翻译成英文：明天见",
    "ＦＵＬＬ　ＷＩＤＴＨ １２３",
    "ﬁne ½ ™ Ⅳ ㍿",
    "İSTANBUL ΣΊΣΥΦΟΣ Straße",
    "e\u0301t\u00e9 한국어 \u1112\u1161\u11ab",
    "👩‍👩‍👧 🏳️‍🌈 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠀋",
    "\u2028line\u2029 \u1680",
    "a" * 999 + "𠀋" + "bcd",
    "why? " * 300,
]


def answers(name: str, vectors: NDArray[np.float32]) -> list[list[float]]:
    rows = verify.run((ARTIFACTS / name / "1" / "model.onnx").read_bytes(), vectors)
    return [[round(float(share), 7) for share in row] for row in rows]


def small() -> tuple[bytes, list[list[float]]]:
    """A model whose every n-gram shares its bucket with others: three labels of weights that were drawn."""
    drawn = random.Random(7)
    weights = np.array([[drawn.randint(-127, 127) for _ in range(3)] for _ in range(64)], dtype=np.int8)
    linear = graph.Linear(weights, np.float32(0.02), np.array([0.5, -0.25, 0.0], dtype=np.float32))
    content = graph.model_bytes(linear, ("a", "b", "c"))
    rows = [router.places(text, buckets=64) for text in TEXTS]
    return content, [[round(float(share), 9) for share in row] for row in linear.probabilities(rows)]


def made() -> dict[str, object]:
    content, expected = small()
    return {
        "texts": TEXTS,
        "small": {"onnx": base64.b64encode(content).decode(), "labels": ["a", "b", "c"], "rows": expected},
        "router": {"labels": ["complex", "simple"], "rows": answers("router", router.vectors(TEXTS))},
        "injection": {
            "labels": ["attack", "benign"],
            "rows": answers("injection", injection.vectors([("", "", text) for text in TEXTS])),
        },
        "intent": {
            "labels": json.loads((ARTIFACTS / "intent/1/manifest.json").read_text(encoding="utf-8"))["labels"],
            "rows": answers("intent", intent.vectors(TEXTS).astype(np.float32)),
        },
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), indent=1) + "\n", encoding="utf-8")
