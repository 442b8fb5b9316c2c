"""A calibration set: rows of text, as the token ids that a model takes, all of one length."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import axes, check_tokenizer, proto
from sluiceway.pipeline.types import Model

Feed = dict[str, Any]
_AS = 'write rows like {"text": "What is the capital of France?"}'


class Reader:
    """Hands the rows to onnxruntime one after the other."""

    def __init__(self, rows: Sequence[Feed]) -> None:
        self._left = list(reversed(rows))

    def get_next(self) -> Feed | None:
        return self._left.pop() if self._left else None


def read(path: Path, model: Model, length: int) -> list[Feed]:
    """One feed a row of ``path``: ids cut and padded to ``length``, since calibration compares rows by position.

    A UserError names the line of a row that has no text, and the input of the model that text does not give.
    """
    parsed = proto.parse(model.path)
    inputs, _ = axes.ports(parsed)
    texts = _texts(path)
    rows = axes.vocabulary(parsed, inputs)
    if rows is None:
        raise UserError("the model takes no token ids", path=str(model.path), hint="use int8-dynamic")
    check_tokenizer(model.folder, rows)
    tokenizer = tokenizers.Tokenizer.from_file(str(model.folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(length)
    kinds = {port.name: np.int32 if port.kind == "int32" else np.int64 for port in inputs}
    return [_feed(tokenizer.encode(text).ids, kinds, length) for text in texts]


def _texts(path: Path) -> list[str]:
    if not path.is_file():
        raise UserError(
            "there is no such calibration set", path="calibration", got=str(path), hint=f"{_AS}, one a line"
        )
    texts = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            text = found["text"]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str) or not text.strip():
            raise UserError("a row has no text", path=f"{path}:{number}", got=line[:80], hint=_AS)
        texts.append(text)
    if not texts:
        raise UserError("the calibration set is empty", path=str(path), hint=_AS)
    return texts


def _feed(ids: Sequence[int], kinds: dict[str, Any], length: int) -> Feed:
    used = len(ids)
    known = {
        "input_ids": [*ids, *[0] * (length - used)],
        "attention_mask": [1] * used + [0] * (length - used),
        "token_type_ids": [0] * length,
        "position_ids": list(range(length)),
    }
    missing = sorted(kinds.keys() - known.keys())
    if missing:
        raise UserError(
            "an input of the model can't be made from text",
            path=missing[0],
            hint=f"inputs that can: {', '.join(known)}; a decoder is exported without its cache to be calibrated",
        )
    return {name: np.array([known[name]], kind) for name, kind in kinds.items()}
