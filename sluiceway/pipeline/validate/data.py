"""The rows that a model is validated on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sluiceway.errors import UserError

LONGEST_TEXT = 100_000
MOST_ROWS = 10_000


@dataclass(frozen=True)
class Row:
    """``label`` is the name of a class, for classifiers."""

    text: str
    label: str | None = None


def read_rows(path: Path) -> tuple[Row, ...]:
    """Rows of a JSONL file, each ``{"text": ...}`` or ``{"text": ..., "label": ...}``; empty lines are passed over.

    Raises UserError with the line at fault; at least one row, labels on all rows or on none.
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise UserError("there is no such file", path=str(path), hint="name a JSONL file of texts") from None
    except UnicodeDecodeError as error:
        raise UserError("this isn't UTF-8", path=str(path), hint="save it as UTF-8") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not 1 <= len(lines) <= MOST_ROWS:
        raise UserError(f"a file has 1 to {MOST_ROWS} rows", path=str(path), got=len(lines), hint="30 are a good start")
    rows = tuple(_row(line, f"{path}:{number}") for number, line in lines)
    if len({row.label is None for row in rows}) > 1:
        raise UserError("some rows have a label and some have none", path=str(path), hint="label all rows or none")
    return rows


def _row(line: str, where: str) -> Row:
    hint = 'a row is {"text": "...", "label": "..."}, the label only for classifiers'
    try:
        document = json.loads(line)
    except ValueError as error:
        raise UserError(f"this isn't JSON: {error}", path=where, hint=hint) from error
    if not isinstance(document, dict) or not {"text"} <= document.keys() <= {"text", "label"}:
        raise UserError("this isn't a row", path=where, got=line[:80], hint=hint)
    text, label = document["text"], document.get("label")
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_TEXT:
        raise UserError(f"a text has 1 to {LONGEST_TEXT} characters", path=where, hint=hint)
    if label is not None and not isinstance(label, str):
        raise UserError("a label is a word", path=where, got=label, hint=hint)
    return Row(text, label)
