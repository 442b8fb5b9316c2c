"""The prompts: read, divided into trained and held out, and what would make a good figure worth nothing."""

from __future__ import annotations

import unicodedata
from collections import Counter
from hashlib import sha256
from pathlib import Path

from models.recipes.intent.train import Sentence, read

PROMPTS = Path(__file__).with_name("prompts.tsv")
LABELS = ("complex", "simple")
ALIKE = 0.5
"""Prompts that share this much of their n-grams are as good as the same one."""
FOLDS = 5

__all__ = [
    "ALIKE",
    "FOLDS",
    "LABELS",
    "PROMPTS",
    "Sentence",
    "divide",
    "fold",
    "of_length",
    "read",
    "twins",
]


def divide(prompts: list[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """What is trained on, and what is held out: half of all, by a digest of the text alone."""
    held = [prompt for prompt in prompts if _digest(prompt)[0] < 128]
    return [prompt for prompt in prompts if _digest(prompt)[0] >= 128], held


def fold(prompt: Sentence) -> int:
    """Which fifth of the training data it is in."""
    return _digest(prompt)[1] % FOLDS


def _digest(prompt: Sentence) -> bytes:
    return sha256(prompt[2].encode()).digest()


def twins(trained: list[Sentence], held: list[Sentence]) -> list[tuple[str, str]]:
    """Pairs across the two halves that are nearly the same, by Jaccard: the share of the n-grams of both in each."""
    known = [_grams(text) for _, _, text in trained]
    having: dict[str, list[int]] = {}
    for at, grams in enumerate(known):
        for gram in grams:
            having.setdefault(gram, []).append(at)
    found = []
    for _, _, text in held:
        grams = _grams(text)
        shared = Counter(at for gram in grams for at in having.get(gram, ()))
        alike = (at for at, both in shared.items() if both / (len(grams) + len(known[at]) - both) >= ALIKE)
        found += [(text, trained[at][2]) for at in sorted(alike)]
    return found


def _grams(text: str) -> frozenset[str]:
    padded = f" {unicodedata.normalize('NFKC', text).lower()} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def of_length(prompts: list[Sentence], label: str = LABELS[0]) -> float:
    """The share that the best rule on length alone names right, chosen on these very prompts: characters or bytes."""
    wanted = [prompt[0] == label for prompt in prompts]
    return max(
        _best([len(text) for *_, text in prompts], wanted), _best([len(t.encode()) for *_, t in prompts], wanted)
    )


def _best(lengths: list[int], wanted: list[bool]) -> float:
    shares = []
    for least in sorted(set(lengths)):
        right = sum((length >= least) == one for length, one in zip(lengths, wanted, strict=True))
        shares += [right / len(wanted), 1 - right / len(wanted)]
    return max(shares)
