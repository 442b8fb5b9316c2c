"""Makes the guard's classifier: prompts.tsv -> models/artifacts/injection/1/{model.onnx,manifest.json}.

    python -m models.recipes.injection.train [--out FOLDER] [--tune]

As ``models.recipes.router.train``: whole numbers, so the same bytes for the same messages; half of them are held out,
and settings were chosen on the other half alone, by --tune. Below the accuracy that is asked for nothing is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from models.recipes.injection import data
from models.recipes.injection.data import LABELS, Sentence
from models.recipes.intent import verify
from models.recipes.intent.graph import OUTPUT
from models.recipes.router import features, graph
from models.recipes.router.learner import Built, Learner, Recipe

VERSION = "injection@1"
OUT = data.PROMPTS.parents[2] / "artifacts" / "injection" / "1"
BUCKETS, LENGTHS, EPOCHS = 16_384, (1, 2, 3), 600
CAP = 500
"""Code points of a text that are looked at: the length of the windows in which the guard reads a longer one."""
ACCURACY = 0.8
"""The least share of held-out messages that must be named right, in each language."""
LENGTH_ALONE = 0.7
"""The most that a rule on length alone may name right of them."""

LEARNER = Learner(LABELS, CAP, decay=12)
fit, crossed = LEARNER.fit, LEARNER.crossed


def places(text: str, lengths: tuple[int, ...] = LENGTHS, buckets: int = BUCKETS) -> list[int]:
    """The places of a message that occur."""
    return features.places(text, lengths, buckets, CAP)


def vectors(messages: list[Sentence]) -> NDArray[np.float32]:
    """One row of BUCKETS per message."""
    return features.vectors((text for *_, text in messages), LENGTHS, BUCKETS, CAP)


def tuned(trained: list[Sentence]) -> Iterator[tuple[str, float]]:
    """Each setting that was tried, with its accuracy."""
    return LEARNER.tuned(trained, ((1, 2), (1, 2, 3), (2, 3), (1, 2, 3, 4)))


def measured(content: bytes, messages: list[Sentence]) -> dict[str, float]:
    """Share of messages that the file names right, over all, by language and by label."""
    return LEARNER.shares(messages, verify.run(content, vectors(messages)))


def build(messages: list[Sentence]) -> Built:
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
        "input": LEARNER.input_of(LENGTHS, BUCKETS),
        "output": {"name": OUTPUT, "kind": "probabilities in the order of labels"},
        "messages": {"trained": len(trained), "held_out": len(held)},
        "held_out_accuracy": found,
        "guard_prompts_accuracy": apart,
        "length_alone": round(alone, 4),
        "file": {"name": "model.onnx", "bytes": len(content), "sha256": sha256(content).hexdigest()},
    }


def main(arguments: list[str] | None = None) -> int:
    def told(manifest: Mapping[str, object]) -> str:
        apart = manifest["guard_prompts_accuracy"]
        return f"held out: {manifest['held_out_accuracy']}\nthe guard's prompts: {apart}"

    return Recipe("the guard's classifier", OUT, data.PROMPTS, data.read, tuned, build, told).run(arguments)


if __name__ == "__main__":
    sys.exit(main())
