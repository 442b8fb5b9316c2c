"""Text -> the places of a sparse 0/1 vector: hashed character n-grams, the same for every script.

Small enough to be written again in the Worker: NFKC, lower case, a space at each end, n-grams of 1 to 4 code
points, FNV-1a (32 bits) over their UTF-8, modulo the number of buckets.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

BUCKETS = 8192
LENGTHS = (1, 2, 3, 4)


def fnv1a(data: bytes) -> int:
    """FNV-1a, 32 bits."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def buckets(text: str) -> list[int]:
    """The places that are 1, rising."""
    padded = f" {unicodedata.normalize('NFKC', text).lower().strip()} "
    grams = {padded[at : at + n] for n in LENGTHS for at in range(len(padded) - n + 1)}
    return sorted({fnv1a(gram.encode()) % BUCKETS for gram in grams})


def vectors(texts: Iterable[str]) -> NDArray[np.int64]:
    """One row of BUCKETS zeros and ones per text."""
    rows = [buckets(text) for text in texts]
    found = np.zeros((len(rows), BUCKETS), dtype=np.int64)
    for at, places in enumerate(rows):
        found[at, places] = 1
    return found
