"""Texts become what a model takes: token ids with a mask, or a vector of features."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import UserError

Array = NDArray[Any]
Feeds = Mapping[str, Array]


class Encoder(Protocol):
    """``padded``: whether rows have lengths of their own, so that a batch of them is padded."""

    @property
    def padded(self) -> bool: ...

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """One row each: ids [length], or features [width]."""
        ...

    def batch(self, rows: Sequence[Array]) -> Feeds:
        """What the model is fed for these rows together."""
        ...


class Tokens:
    """Token ids by tokenizer.json. ``side``: where a batch is padded, "left" for models that go on writing."""

    padded = True

    def __init__(self, folder: Path, side: str, longest: int) -> None:
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        if not path.is_file():
            hint = "a tokenizer.json lies beside the model; one is made by its own tokenizer library, once"
            raise UserError("there is no tokenizer.json here", path=str(folder), hint=hint)
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises a bare Exception
            hint = "take the file of the model's own revision"
            raise UserError(f"the tokenizer can't be read: {error}", path=str(path), hint=hint) from error
        padding = self._tokenizer.padding
        self.pad = int(padding["pad_id"]) if padding else _pad_id(folder)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(longest, _positions(folder)))
        self._side = side

    def encode(self, texts: Sequence[str]) -> list[Array]:
        return [np.array(encoded.ids, np.int64) for encoded in self._tokenizer.encode_batch(list(texts))]

    def batch(self, rows: Sequence[Array]) -> Feeds:
        width = max(len(row) for row in rows)
        ids, mask = np.full((len(rows), width), self.pad, np.int64), np.zeros((len(rows), width), np.int64)
        for number, row in enumerate(rows):
            at = slice(width - len(row), width) if self._side == "left" else slice(0, len(row))
            ids[number, at], mask[number, at] = row, 1
        return {"input_ids": ids, "attention_mask": mask}


class Features:
    """``make``: texts -> features [rows, width] of the one input ``name``."""

    padded = False

    def __init__(self, name: str, make: Callable[[Sequence[str]], Array]) -> None:
        self._name, self._make = name, make

    def encode(self, texts: Sequence[str]) -> list[Array]:
        return list(self._make(texts))

    def batch(self, rows: Sequence[Array]) -> Feeds:
        return {self._name: np.stack(rows)}


def _config(folder: Path) -> Mapping[str, Any]:
    path = folder / "config.json"
    document = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return document if isinstance(document, dict) else {}


def _pad_id(folder: Path) -> int:
    """What the config says. Any row of the table does: the mask hides it."""
    said = _config(folder).get("pad_token_id")
    return said if isinstance(said, int) and said >= 0 else 0


def _positions(folder: Path) -> int:
    said = _config(folder).get("max_position_embeddings")
    return said if isinstance(said, int) and said > 0 else 1 << 30
