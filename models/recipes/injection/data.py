"""The messages: read, divided into trained and held out as the router's prompts are, and the guard's own prompts."""

from __future__ import annotations

import json
from pathlib import Path

from models.recipes.router.data import FOLDS, Sentence, divide, fold, of_length, twins
from models.recipes.router.data import read as read_lines

PROMPTS = Path(__file__).with_name("prompts.tsv")
GUARD = PROMPTS.parents[3] / "tests" / "guard" / "prompts.jsonl"
"""Written apart from these, so that what is measured on them flatters less."""
LABELS = ("attack", "benign")

__all__ = ["FOLDS", "GUARD", "LABELS", "PROMPTS", "Sentence", "divide", "fold", "guarded", "of_length", "read", "twins"]


def read(path: Path = PROMPTS) -> list[Sentence]:
    """Label, language and text of each message; a written line break is one."""
    return [(label, language, text.replace("\\n", "\n")) for label, language, text in read_lines(path)]


def guarded() -> list[Sentence]:
    """The prompts that the guard's rates are measured on."""
    rows = [json.loads(line) for line in GUARD.read_text(encoding="utf-8").splitlines()]
    return [(row["kind"], row["lang"], row["text"]) for row in rows]
