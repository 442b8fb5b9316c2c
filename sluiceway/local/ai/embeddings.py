"""Embeddings without a model: words and letter triples are hashed to coordinates, so that texts that share
wording lie close together. Deterministic, of length 1, the same on every machine.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from hashlib import blake2b


@lru_cache(maxsize=4096)
def embed(text: str, dimensions: int) -> tuple[float, ...]:
    """A vector of length 1 (the first axis for a text without any feature)."""
    vector = [0.0] * dimensions
    for feature, times in Counter(_features(text)).items():
        digest = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        sign = 1.0 if digest & 1 else -1.0
        vector[(digest >> 1) % dimensions] += sign * (1.0 + math.log(times))
    length = math.sqrt(sum(value * value for value in vector))
    if length == 0.0:
        return (1.0, *vector[1:])
    return tuple(value / length for value in vector)


def similarity(left: str, right: str, dimensions: int = 1024) -> float:
    """Cosine, from -1 to 1."""
    pairs = zip(embed(left, dimensions), embed(right, dimensions), strict=True)
    return sum(a * b for a, b in pairs)


def _features(text: str) -> list[str]:
    words = "".join(character if character.isalnum() else " " for character in text.lower()).split()
    found = [f"word {word}" for word in words for _ in range(2)]
    for word in words:
        padded = f"^{word}$"
        found += [f"triple {padded[at : at + 3]}" for at in range(max(1, len(padded) - 2))]
        # A run of Chinese is one "word": its characters and pairs carry the meaning.
        if not word.isascii():
            found += [f"char {character}" for character in word]
            found += [f"pair {word[at : at + 2]}" for at in range(len(word) - 1)]
    return found
