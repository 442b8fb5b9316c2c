"""Text -> the places of a sparse vector: hashed character n-grams, as of the intent classifier, of a text's beginning.

All places that occur have the same value, one by the root of their number, so that a long text is no stronger
than a short one. ``worker/src/edge/`` says the same in TypeScript; ``tests/contract/edge.json`` holds the two together.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from models.recipes.intent.features import fnv1a

BUCKETS = 16_384
LENGTHS = (1, 2)
CAP = 1_000
"""Code points of a text that are looked at, so that what a request costs has a bound; what is asked stands in front."""


def places(text: str, lengths: tuple[int, ...] = LENGTHS, buckets: int = BUCKETS, cap: int | None = CAP) -> list[int]:
    """The places that occur, rising."""
    padded = f" {unicodedata.normalize('NFKC', text[:cap]).lower().strip()} "
    grams = {padded[at : at + n] for n in lengths for at in range(len(padded) - n + 1)}
    return sorted({fnv1a(gram.encode()) % buckets for gram in grams})


def value(count: int) -> float:
    """What each of ``count`` places has in the vector."""
    return 1 / math.sqrt(count)


def vectors(
    texts: Iterable[str], lengths: tuple[int, ...] = LENGTHS, buckets: int = BUCKETS, cap: int | None = CAP
) -> NDArray[np.float32]:
    """One row of ``buckets`` per text, each of length one."""
    rows = [places(text, lengths, buckets, cap) for text in texts]
    found = np.zeros((len(rows), buckets), dtype=np.float32)
    for at, row in enumerate(rows):
        found[at, row] = value(len(row))
    return found
