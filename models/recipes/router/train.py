"""Makes the router: prompts.tsv -> models/artifacts/router/1/{model.onnx,manifest.json}.

    python -m models.recipes.router.train [--out FOLDER] [--tune]

The same prompts give the same bytes. Half of them are held out; settings were chosen on the other half alone, by
--tune, which prints the accuracy of each over five folds. Below the accuracy that is asked for nothing is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.recipes.intent import verify
from models.recipes.intent.graph import INPUT, OUTPUT
from models.recipes.router import data, features, graph, logistic
from models.recipes.router.data import LABELS, Sentence

VERSION = "router@1"
OUT = data.PROMPTS.parents[2] / "artifacts" / "router" / "1"
EPOCHS, DECAY = 600, 12
ACCURACY = 0.92
"""The least share of held-out prompts that must be named right."""
LENGTH_ALONE = 0.6
"""The most that a rule on length alone may name right of them: else they say nothing of anything but length."""


def fit(prompts: list[Sentence], lengths: tuple[int, ...], buckets: int, epochs: int) -> tuple[logistic.Whole, int]:
    """Weights and bias of ``simple``."""
    rows = logistic.Rows.of([features.places(text, lengths, buckets) for *_, text in prompts])
    return logistic.train(rows, _wanted(prompts), buckets, epochs, DECAY)


def crossed(trained: list[Sentence], lengths: tuple[int, ...], buckets: int, epochs: int) -> float:
    """Accuracy of a setting on the fold that was left out, over all folds."""
    right = 0
    for left_out in range(data.FOLDS):
        rest = [prompt for prompt in trained if data.fold(prompt) != left_out]
        asked = [prompt for prompt in trained if data.fold(prompt) == left_out]
        weights, bias = fit(rest, lengths, buckets, epochs)
        rows = logistic.Rows.of([features.places(text, lengths, buckets) for *_, text in asked])
        right += int(((rows.dot(weights) + bias > 0) == _wanted(asked)).sum())
    return right / len(trained)


def tuned(trained: list[Sentence]) -> Iterator[tuple[str, float]]:
    """Each setting that was tried, with its accuracy."""
    for buckets, lengths, epochs in product((8_192, 16_384, 32_768), ((1, 2), (1, 2, 3), (2, 3)), (200, 600)):
        share = crossed(trained, lengths, buckets, epochs)
        yield f"{buckets} buckets, lengths {lengths}, {epochs} epochs", share


def _wanted(prompts: list[Sentence]) -> logistic.Whole:
    return np.array([LABELS.index(label) for label, *_ in prompts], dtype=np.int64)


def shares(prompts: list[Sentence], rows: NDArray[np.float32], labels: tuple[str, ...] = LABELS) -> dict[str, float]:
    """Share of prompts named right, over all, by language and by label."""
    right = rows.argmax(axis=1) == [labels.index(label) for label, *_ in prompts]
    groups = {"all": [True] * len(prompts)}
    for at in (1, 0):
        for name in sorted({prompt[at] for prompt in prompts}):
            groups[name] = [prompt[at] == name for prompt in prompts]
    return {name: round(float(right[np.array(mask)].mean()), 4) for name, mask in groups.items()}


def build(prompts: list[Sentence]) -> tuple[bytes, dict[str, object]]:
    """The ONNX file and its manifest. Raises Refused when the result isn't fit to be published."""
    trained, held = data.divide(prompts)
    linear = graph.Linear.of(*fit(trained, features.LENGTHS, features.BUCKETS, EPOCHS))
    content = graph.model_bytes(linear, LABELS)
    expected = linear.probabilities([features.places(text) for *_, text in held])
    vectors = features.vectors(text for *_, text in held)
    verify.check(content, vectors, expected)
    found = shares(held, verify.run(content, vectors))
    alone = data.of_length(held)
    if not found["all"] >= ACCURACY:
        raise verify.Refused(f"held-out accuracy {found['all']} is below {ACCURACY}")
    if not alone <= LENGTH_ALONE:
        raise verify.Refused(f"length alone names {alone:.3f} of the held-out prompts right, more than {LENGTH_ALONE}")
    return content, {
        "model": VERSION,
        "task": "classify",
        "labels": list(LABELS),
        "input": {
            "name": INPUT,
            "kind": "hashed character n-grams, each one by the root of how many there are",
            "normalise": "NFKC, lower case, stripped, one space at each end",
            "lengths": list(features.LENGTHS),
            "code_points": features.CAP,
            "hash": "fnv1a-32 of UTF-8",
            "buckets": features.BUCKETS,
        },
        "output": {"name": OUTPUT, "kind": "probabilities in the order of labels"},
        "prompts": {"trained": len(trained), "held_out": len(held)},
        "held_out_accuracy": found,
        "length_alone": round(alone, 4),
        "file": {"name": "model.onnx", "bytes": len(content), "sha256": sha256(content).hexdigest()},
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Trains the router and writes its ONNX file.")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--prompts", type=Path, default=data.PROMPTS)
    parser.add_argument("--tune", action="store_true", help="print the accuracy of each setting, by cross-validation")
    options = parser.parse_args(arguments)
    try:
        prompts = data.read(options.prompts)
        if options.tune:
            for setting, share in tuned(data.divide(prompts)[0]):
                print(f"{share:.4f}  {setting}")
            return 0
        content, manifest = build(prompts)
    except verify.Refused as reason:
        print(f"refused: {reason}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "model.onnx").write_bytes(content)
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (options.out / "manifest.json").write_text(text, encoding="utf-8")
    print(f"held-out accuracy {manifest['held_out_accuracy']}, by length alone {manifest['length_alone']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
