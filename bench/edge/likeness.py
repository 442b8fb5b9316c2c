"""Which cosine tells the same question from another one, by an encoder's package: the semantic cache's threshold.

    python -m bench.edge.likeness FOLDER

FOLDER: what ``sluiceway models build minilm`` tells at its end. The vectors are rounded as the cache keeps them.
Printed are, for each threshold, how many pairs of the same question meet it and how many of others do: by the vectors
alone, and as the cache has it, which compares no texts with other directions ("to euros"). Others that meet it get a
wrong answer.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PAIRS = Path(__file__).with_name("pairs.tsv")
THRESHOLDS = (0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)

DIRECTIONS = re.compile(r"\b(?:to|from|into|than|before|after)\s+(?:(?:an?|the|my)\s+)?\w+")
"""As worker/src/cache/likeness.ts has them; in these pairs nothing else keeps the cache from comparing."""


def pairs() -> list[tuple[str, str, str]]:
    """Kind (same, other) and two questions."""
    lines = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return [(kind, one, two) for kind, one, two in lines]


def packed(vector: NDArray[np.float32]) -> NDArray[np.float64]:
    """A vector as worker/src/cache/vectors.ts keeps it: whole numbers up to 127."""
    return np.asarray(np.round(vector / np.abs(vector).max() * 127), dtype=np.float64)


def vectors(folder: Path, texts: list[str]) -> list[NDArray[np.float64]]:
    """One for each text, each text by itself."""
    import onnxruntime  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    found = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        found.append(packed(session.run(["sentence_embedding"], feeds)[0][0]))
    return found


def cosines(folder: Path) -> list[tuple[str, float, str, str]]:
    """Kind, cosine and questions of each pair."""
    rows = pairs()
    ones = vectors(folder, [one for _, one, _ in rows])
    twos = vectors(folder, [two for *_, two in rows])
    return [
        (kind, float(a @ b / np.sqrt((a @ a) * (b @ b))), one, two)
        for (kind, one, two), a, b in zip(rows, ones, twos, strict=True)
    ]


def _met(rows: list[tuple[str, float, str, str]], threshold: float) -> tuple[int, int]:
    near = [kind for kind, cosine, *_ in rows if cosine >= threshold]
    return near.count("same"), near.count("other")


def main(folder: str) -> int:
    found = cosines(Path(folder))
    compared = [row for row in found if DIRECTIONS.findall(row[2].lower()) == DIRECTIONS.findall(row[3].lower())]
    print("           by vectors    by the cache")
    print("threshold  same  other   same  other")
    for threshold in THRESHOLDS:
        (same, other), (kept, wrong) = (_met(rows, threshold) for rows in (found, compared))
        print(f"{threshold:9.2f}  {same:4d}  {other:5d}   {kept:4d}  {wrong:5d}")
    print("others that are nearest, as the cache has it:")
    for kind, cosine, one, two in sorted(compared, key=lambda row: -row[1]):
        if kind == "other" and cosine >= THRESHOLDS[0]:
            print(f"{cosine:.3f}  {one} | {two}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
