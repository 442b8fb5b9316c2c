"""A classifier of two labels by hashed n-grams: how it learns, how a setting of it is tried, and its command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.recipes.files import write
from models.recipes.intent import verify
from models.recipes.intent.graph import INPUT
from models.recipes.router import data, features, logistic
from models.recipes.router.data import Sentence

Lengths = tuple[int, ...]
Built = tuple[bytes, dict[str, object]]
"""The ONNX file and its manifest."""
_BUCKETS, _EPOCHS = (8_192, 16_384, 32_768), (200, 600)


@dataclass(frozen=True)
class Learner:
    """``cap``: code points of a text that are looked at. ``decay``: see ``logistic.train``."""

    labels: tuple[str, str]
    cap: int
    decay: int

    def places(self, texts: list[Sentence], lengths: Lengths, buckets: int) -> list[list[int]]:
        """The places of each text that occur."""
        return [features.places(text, lengths, buckets, self.cap) for *_, text in texts]

    def fit(self, texts: list[Sentence], lengths: Lengths, buckets: int, epochs: int) -> tuple[logistic.Whole, int]:
        """Weights and bias of the second label."""
        rows = logistic.Rows.of(self.places(texts, lengths, buckets))
        return logistic.train(rows, self._wanted(texts), buckets, epochs, self.decay)

    def crossed(self, trained: list[Sentence], lengths: Lengths, buckets: int, epochs: int) -> float:
        """Accuracy of a setting on the fold that was left out, over all folds."""
        right = 0
        for left_out in range(data.FOLDS):
            rest = [text for text in trained if data.fold(text) != left_out]
            asked = [text for text in trained if data.fold(text) == left_out]
            weights, bias = self.fit(rest, lengths, buckets, epochs)
            rows = logistic.Rows.of(self.places(asked, lengths, buckets))
            right += int(((rows.dot(weights) + bias > 0) == self._wanted(asked)).sum())
        return right / len(trained)

    def tuned(self, trained: list[Sentence], tried: Iterable[Lengths]) -> Iterator[tuple[str, float]]:
        """Each setting with these lengths, and its accuracy."""
        for buckets, lengths, epochs in product(_BUCKETS, tried, _EPOCHS):
            share = self.crossed(trained, lengths, buckets, epochs)
            yield f"{buckets} buckets, lengths {lengths}, {epochs} epochs", share

    def shares(self, texts: list[Sentence], rows: NDArray[np.float32]) -> dict[str, float]:
        """Share of texts named right by ``rows``, over all, by language and by label."""
        right = rows.argmax(axis=1) == self._wanted(texts)
        groups = {"all": [True] * len(texts)}
        for at in (1, 0):
            for name in sorted({text[at] for text in texts}):
                groups[name] = [text[at] == name for text in texts]
        return {name: round(float(right[np.array(mask)].mean()), 4) for name, mask in groups.items()}

    def input_of(self, lengths: Lengths, buckets: int) -> dict[str, object]:
        """What a manifest says of the input."""
        return {
            "name": INPUT,
            "kind": "hashed character n-grams, each one by the root of how many there are",
            "normalise": "NFKC, lower case, stripped, one space at each end",
            "lengths": list(lengths),
            "code_points": self.cap,
            "hash": "fnv1a-32 of UTF-8",
            "buckets": buckets,
        }

    def _wanted(self, texts: list[Sentence]) -> logistic.Whole:
        return np.array([self.labels.index(label) for label, *_ in texts], dtype=np.int64)


@dataclass(frozen=True)
class Recipe:
    """What the command of a recipe does: ``out`` and ``prompts`` are where it writes and reads unless it is told."""

    what: str
    out: Path
    prompts: Path
    read: Callable[[Path], list[Sentence]]
    tuned: Callable[[list[Sentence]], Iterator[tuple[str, float]]]
    build: Callable[[list[Sentence]], Built]
    told: Callable[[Mapping[str, object]], str]

    def run(self, arguments: list[str] | None) -> int:
        """The exit code. What isn't fit to be published is told, and nothing is written."""
        parser = argparse.ArgumentParser(description=f"Trains {self.what} and writes its ONNX file.")
        parser.add_argument("--out", type=Path, default=self.out)
        parser.add_argument("--prompts", type=Path, default=self.prompts)
        help_ = "print the accuracy of each setting, by cross-validation"
        parser.add_argument("--tune", action="store_true", help=help_)
        options = parser.parse_args(arguments)
        try:
            texts = self.read(options.prompts)
            if options.tune:
                for setting, share in self.tuned(data.divide(texts)[0]):
                    print(f"{share:.4f}  {setting}")
                return 0
            content, manifest = self.build(texts)
        except verify.Refused as reason:
            print(f"refused: {reason}", file=sys.stderr)
            return 1
        write(options.out, content, manifest)
        print(self.told(manifest))
        return 0
