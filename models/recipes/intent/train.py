"""Makes the intent classifier: sentences.tsv -> models/artifacts/intent/1/{model.onnx,manifest.json}.

    python -m models.recipes.intent.train [--out FOLDER]

The same sentences give the same bytes. Every fifth sentence is held out and never trained on; below the accuracy
that is asked for here nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.recipes.files import write
from models.recipes.intent import features, graph, softmax, verify

HERE = Path(__file__).parent
VERSION = "intent@1"
OUT = HERE.parents[1] / "artifacts" / "intent" / "1"
EPOCHS, STEP, DECAY = 40, 8, 9
ACCURACY = 0.8
"""The least share of held-out sentences that must be named right, in each language."""

Sentence = tuple[str, str, str]  # label, language, text


def read(path: Path) -> list[Sentence]:
    """Sentences of a tab-separated file; lines that begin with # are remarks."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 3 or not all(cell.strip() for cell in cells):
            raise verify.Refused(f"{path.name}:{number}: a line is label, language and sentence")
        found.append((cells[0], cells[1], cells[2]))
    return found


def divide(sentences: list[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """What is trained on, and every fifth sentence of each label and language, which is held out."""
    trained: list[Sentence] = []
    held: list[Sentence] = []
    seen: dict[tuple[str, str], int] = {}
    for sentence in sentences:
        seen[sentence[:2]] = seen.get(sentence[:2], 0) + 1
        (held if seen[sentence[:2]] % 5 == 0 else trained).append(sentence)
    return trained, held


def accuracy(sentences: list[Sentence], answer: NDArray[np.float32], labels: list[str]) -> dict[str, float]:
    """Share of sentences named right, over all and by language."""
    right = [labels[int(row.argmax())] == label for (label, _, _), row in zip(sentences, answer, strict=True)]
    shares = {"all": sum(right) / len(right)}
    for language in sorted({sentence[1] for sentence in sentences}):
        of_language = [good for good, sentence in zip(right, sentences, strict=True) if sentence[1] == language]
        shares[language] = sum(of_language) / len(of_language)
    return {name: round(share, 4) for name, share in shares.items()}


def build(sentences: list[Sentence]) -> tuple[bytes, dict[str, object]]:
    """The ONNX file and its manifest. Raises Refused when the result isn't fit to be published."""
    labels = sorted({label for label, _, _ in sentences})
    trained, held = divide(sentences)
    rows = features.vectors(text for _, _, text in trained)
    wanted = np.array([labels.index(label) for label, _, _ in trained], dtype=np.int64)
    weights, bias = softmax.train(rows, wanted, len(labels), EPOCHS, STEP, DECAY)
    data = graph.model_bytes(
        (weights / softmax.SCALE).astype(np.float32), (bias / softmax.SCALE).astype(np.float32), labels
    )
    held_rows = features.vectors(text for _, _, text in held)
    verify.check(data, held_rows, softmax.probabilities(weights, bias, held_rows))
    shares = accuracy(held, verify.run(data, held_rows), labels)
    poor = {name: share for name, share in shares.items() if not share >= ACCURACY}
    if poor:
        raise verify.Refused(f"held-out accuracy {poor} is below {ACCURACY}")
    return data, {
        "model": VERSION,
        "task": "classify",
        "labels": labels,
        "input": {
            "name": graph.INPUT,
            "kind": "hashed character n-grams, 0 or 1",
            "normalise": "NFKC, lower case, stripped, one space at each end",
            "lengths": list(features.LENGTHS),
            "hash": "fnv1a-32 of UTF-8",
            "buckets": features.BUCKETS,
        },
        "output": {"name": graph.OUTPUT, "kind": "probabilities in the order of labels"},
        "sentences": {"trained": len(trained), "held_out": len(held)},
        "held_out_accuracy": shares,
        "file": {"name": "model.onnx", "bytes": len(data), "sha256": sha256(data).hexdigest()},
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Trains the intent classifier and writes its ONNX file.")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--sentences", type=Path, default=HERE / "sentences.tsv")
    options = parser.parse_args(arguments)
    try:
        data, manifest = build(read(options.sentences))
    except verify.Refused as reason:
        print(f"refused: {reason}", file=sys.stderr)
        return 1
    write(options.out, data, manifest)
    print(f"held-out accuracy {manifest['held_out_accuracy']}")
    for path in (options.out / "model.onnx", options.out / "manifest.json"):
        content = path.read_bytes()
        print(f"{path.name}: {len(content)} bytes, sha256 {sha256(content).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
