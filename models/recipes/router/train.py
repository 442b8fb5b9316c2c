"""Makes the router: prompts.tsv -> models/artifacts/router/1/{model.onnx,manifest.json}.

    python -m models.recipes.router.train [--out FOLDER] [--tune]

The same prompts give the same bytes. Half of them are held out; settings were chosen on the other half alone, by
--tune, which prints the accuracy of each over five folds. Below the accuracy that is asked for nothing is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256

from models.recipes.intent import verify
from models.recipes.intent.graph import OUTPUT
from models.recipes.router import data, features, graph
from models.recipes.router.data import LABELS, Sentence
from models.recipes.router.learner import Built, Learner, Recipe

VERSION = "router@1"
OUT = data.PROMPTS.parents[2] / "artifacts" / "router" / "1"
EPOCHS = 600
ACCURACY = 0.92
"""The least share of held-out prompts that must be named right."""
LENGTH_ALONE = 0.6
"""The most that a rule on length alone may name right of them: else they say nothing of anything but length."""

LEARNER = Learner(LABELS, features.CAP, decay=12)
fit, crossed, shares = LEARNER.fit, LEARNER.crossed, LEARNER.shares


def tuned(trained: list[Sentence]) -> Iterator[tuple[str, float]]:
    """Each setting that was tried, with its accuracy."""
    return LEARNER.tuned(trained, ((1, 2), (1, 2, 3), (2, 3)))


def build(prompts: list[Sentence]) -> Built:
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
        "input": LEARNER.input_of(features.LENGTHS, features.BUCKETS),
        "output": {"name": OUTPUT, "kind": "probabilities in the order of labels"},
        "prompts": {"trained": len(trained), "held_out": len(held)},
        "held_out_accuracy": found,
        "length_alone": round(alone, 4),
        "file": {"name": "model.onnx", "bytes": len(content), "sha256": sha256(content).hexdigest()},
    }


def main(arguments: list[str] | None = None) -> int:
    def told(manifest: Mapping[str, object]) -> str:
        return f"held-out accuracy {manifest['held_out_accuracy']}, by length alone {manifest['length_alone']}"

    return Recipe("the router", OUT, data.PROMPTS, data.read, tuned, build, told).run(arguments)


if __name__ == "__main__":
    sys.exit(main())
