"""Makes the guard's classifier: prompts.tsv -> models/artifacts/injection/1/{model.onnx,manifest.json}.

    python -m models.recipes.injection.train [--out FOLDER] [--tune]

As ``models.recipes.router.train``: whole numbers, so the same bytes for the same messages; half of them are held out,
and settings were chosen on the other half alone, by --tune. Below the accuracy that is asked for nothing is written.
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

from models.recipes.injection import data
from models.recipes.injection.data import LABELS, Sentence
from models.recipes.intent import verify
from models.recipes.intent.graph import INPUT, OUTPUT
from models.recipes.router import features, graph, logistic
from models.recipes.router.train import shares

VERSION = "injection@1"
OUT = data.PROMPTS.parents[2] / "artifacts" / "injection" / "1"
BUCKETS, LENGTHS, EPOCHS, DECAY = 16_384, (1, 2, 3), 600, 12
CAP = 500
"""Code points of a text that are looked at: the length of the windows in which the guard reads a longer one."""
ACCURACY = 0.8
"""The least share of held-out messages that must be named right, in each language."""
LENGTH_ALONE = 0.7
"""The most that a rule on length alone may name right of them."""


def places(text: str, lengths: tuple[int, ...] = LENGTHS, buckets: int = BUCKETS) -> list[int]:
    """The places of a message that occur."""
    return features.places(text, lengths, buckets, CAP)


def vectors(messages: list[Sentence]) -> NDArray[np.float32]:
    """One row of BUCKETS per message."""
    return features.vectors((text for *_, text in messages), LENGTHS, BUCKETS, CAP)


def fit(messages: list[Sentence], lengths: tuple[int, ...], buckets: int, epochs: int) -> tuple[logistic.Whole, int]:
    """Weights and bias of the second label."""
    rows = logistic.Rows.of([places(text, lengths, buckets) for *_, text in messages])
    return logistic.train(rows, _wanted(messages), buckets, epochs, DECAY)


def crossed(trained: list[Sentence], lengths: tuple[int, ...], buckets: int, epochs: int) -> float:
    """Accuracy of a setting on the fold that was left out, over all folds."""
    right = 0
    for left_out in range(data.FOLDS):
        rest = [message for message in trained if data.fold(message) != left_out]
        asked = [message for message in trained if data.fold(message) == left_out]
        weights, bias = fit(rest, lengths, buckets, epochs)
        rows = logistic.Rows.of([places(text, lengths, buckets) for *_, text in asked])
        right += int(((rows.dot(weights) + bias > 0) == _wanted(asked)).sum())
    return right / len(trained)


def tuned(trained: list[Sentence]) -> Iterator[tuple[str, float]]:
    """Each setting that was tried, with its accuracy."""
    tried = product((8_192, 16_384, 32_768), ((1, 2), (1, 2, 3), (2, 3), (1, 2, 3, 4)), (200, 600))
    for buckets, lengths, epochs in tried:
        yield f"{buckets} buckets, lengths {lengths}, {epochs} epochs", crossed(trained, lengths, buckets, epochs)


def _wanted(messages: list[Sentence]) -> logistic.Whole:
    return np.array([LABELS.index(label) for label, *_ in messages], dtype=np.int64)


def measured(content: bytes, messages: list[Sentence]) -> dict[str, float]:
    """Share of messages that the file names right, over all, by language and by label."""
    return shares(messages, verify.run(content, vectors(messages)), LABELS)


def build(messages: list[Sentence]) -> tuple[bytes, dict[str, object]]:
    """The ONNX file and its manifest. Raises Refused when the result isn't fit to be published."""
    trained, held = data.divide(messages)
    linear = graph.Linear.of(*fit(trained, LENGTHS, BUCKETS, EPOCHS))
    content = graph.model_bytes(linear, LABELS, LENGTHS, CAP)
    verify.check(content, vectors(held), linear.probabilities([places(text) for *_, text in held]))
    found, apart = measured(content, held), measured(content, data.guarded())
    alone = data.of_length(held, LABELS[0])
    for language in sorted({language for _, language, _ in held}):
        if not found[language] >= ACCURACY:
            raise verify.Refused(f"held-out accuracy in {language} is {found[language]}, below {ACCURACY}")
    if not alone <= LENGTH_ALONE:
        raise verify.Refused(f"length alone names {alone:.3f} of the held-out messages right, more than {LENGTH_ALONE}")
    return content, {
        "model": VERSION,
        "task": "classify",
        "labels": list(LABELS),
        "input": {
            "name": INPUT,
            "kind": "hashed character n-grams, each one by the root of how many there are",
            "normalise": "NFKC, lower case, stripped, one space at each end",
            "lengths": list(LENGTHS),
            "code_points": CAP,
            "hash": "fnv1a-32 of UTF-8",
            "buckets": BUCKETS,
        },
        "output": {"name": OUTPUT, "kind": "probabilities in the order of labels"},
        "messages": {"trained": len(trained), "held_out": len(held)},
        "held_out_accuracy": found,
        "guard_prompts_accuracy": apart,
        "length_alone": round(alone, 4),
        "file": {"name": "model.onnx", "bytes": len(content), "sha256": sha256(content).hexdigest()},
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Trains the guard's classifier and writes its ONNX file.")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--prompts", type=Path, default=data.PROMPTS)
    parser.add_argument("--tune", action="store_true", help="print the accuracy of each setting, by cross-validation")
    options = parser.parse_args(arguments)
    try:
        messages = data.read(options.prompts)
        if options.tune:
            for setting, share in tuned(data.divide(messages)[0]):
                print(f"{share:.4f}  {setting}")
            return 0
        content, manifest = build(messages)
    except verify.Refused as reason:
        print(f"refused: {reason}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "model.onnx").write_bytes(content)
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (options.out / "manifest.json").write_text(text, encoding="utf-8")
    print(f"held out: {manifest['held_out_accuracy']}")
    print(f"the guard's prompts: {manifest['guard_prompts_accuracy']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
