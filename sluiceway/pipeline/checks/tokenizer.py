"""Whether a tokenizer.json fits the table of embeddings that its ids are looked up in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sluiceway.errors import UserError
from sluiceway.pipeline.checks.folder import regular

NAME = "tokenizer.json"
MOST_BYTES = 256 * 2**20
_OTHER = "put the tokenizer.json there that the weights were trained with"


def check(folder: Path, rows: int) -> int:
    """How many ids tokenizer.json gives, from 0 to the highest. ``rows``: of the embedding table."""
    path = folder / NAME
    if regular(path).st_size > MOST_BYTES:
        raise UserError("the tokenizer is too large", path=str(path), got=path.stat().st_size, hint=_OTHER)
    try:
        found = json.loads(path.read_text("utf-8"))
        ids = list(_ids(found))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError("this is no tokenizer", path=str(path), got=str(error), hint=_OTHER) from error
    if not ids:
        raise UserError("the tokenizer has no vocabulary", path=str(path), hint=_OTHER)
    count = max(ids) + 1
    if min(ids) < 0 or count > rows:
        raise UserError(
            f"the tokenizer gives ids up to {count - 1}, and the model's table has {rows} rows",
            path=str(path),
            hint=_OTHER,
        )
    if count * 2 < rows:
        raise UserError(
            f"the tokenizer gives {count} ids, less than half of the {rows} rows of the model's table",
            path=str(path),
            hint=_OTHER,
        )
    return count


def _ids(found: Any) -> Iterator[int]:  # noqa: ANN401 - JSON
    vocabulary = found["model"].get("vocab", ())
    if isinstance(vocabulary, dict):
        yield from (int(number) for number in vocabulary.values())
    else:
        # A unigram vocabulary is a list of (piece, score); the place is the id.
        yield from range(len(vocabulary))
    yield from (int(added["id"]) for added in found.get("added_tokens") or ())
