"""The header of a safetensors file, by code of our own: nothing of the file is believed before it was checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sluiceway.errors import UserError
from sluiceway.pipeline.lora.adapter import shown

MAX_HEADER: Final = 4 * 2**20
"""Bytes. The largest adapter of the largest base has some 60 kB."""
WIDTHS: Final = {"F32": 4, "F16": 2, "BF16": 2}
_HINT: Final = "save the adapter again, or copy it anew: the file is cut off or was changed"


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    dtype: str
    shape: Annotated[list[Annotated[int, Field(ge=0, le=2**31)]], Field(max_length=8)]
    data_offsets: Annotated[list[Annotated[int, Field(ge=0, le=2**40)]], Field(min_length=2, max_length=2)]


@dataclass(frozen=True)
class Tensor:
    """``size``: its bytes. Tensors follow each other in the file without a gap, in the order of `read`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    size: int

    @property
    def elements(self) -> int:
        return self.size // WIDTHS[self.dtype]


@dataclass(frozen=True)
class Header:
    """``length``: bytes before the first tensor."""

    length: int
    tensors: tuple[Tensor, ...]


def read(path: Path) -> Header:
    """The tensors by where they begin; a UserError when the header isn't one, or doesn't tell all of the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        said = int.from_bytes(file.read(8), "little")
        if size < 8 or not 2 <= said <= size - 8:
            raise UserError("this isn't a safetensors file", path=str(path), got=f"{size} bytes", hint=_HINT)
        if said > MAX_HEADER:
            raise UserError(f"the header may have {MAX_HEADER:,} bytes", path=str(path), got=said, hint=_HINT)
        document = _parsed(file.read(said), path)
    document.pop("__metadata__", None)
    if not document:
        raise UserError("the file holds no tensors", path=str(path), hint="train the adapter before it is saved")
    tensors = sorted((_tensor(name, entry, path) for name, entry in document.items()), key=lambda each: each.begin)
    _tiled(tensors, size - 8 - said, path)
    return Header(8 + said, tuple(tensors))


def _parsed(raw: bytes, path: Path) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name stands twice")
        return found

    try:
        document = json.loads(raw.decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the header isn't JSON: {str(error)[:120]}", path=str(path), hint=_HINT) from None
    if not isinstance(document, dict):
        raise UserError("the header must be a mapping", path=str(path), got=type(document).__name__, hint=_HINT)
    return document


def _tensor(name: str, entry: object, path: Path) -> Tensor:
    where = f"{path}: {shown(name)}"
    try:
        found = _Entry.model_validate(entry)
    except ValidationError as error:
        what = error.errors(include_url=False)[0]
        place = shown(".".join(str(part) for part in what["loc"]))
        raise UserError(f"the header is damaged here: {place} {what['msg']}", path=where, hint=_HINT) from None
    if found.dtype not in WIDTHS:
        hint = "save it as float16, bfloat16 or float32: quantised adapters aren't taken"
        raise UserError("a weight must be of floats", path=where, got=found.dtype, hint=hint)
    begin, end = found.data_offsets
    wanted = WIDTHS[found.dtype]
    for length in found.shape:
        wanted *= length
    if end - begin != wanted:
        message = f"its shape and type make {wanted} bytes"
        raise UserError(message, path=where, got=end - begin, hint=_HINT)
    return Tensor(name, found.dtype, tuple(found.shape), begin, wanted)


def _tiled(tensors: list[Tensor], size: int, path: Path) -> None:
    at = 0
    for tensor in tensors:
        if tensor.begin != at:
            message = "tensors overlap, or bytes between them belong to none"
            raise UserError(message, path=f"{path}: {shown(tensor.name)}", got=tensor.begin, hint=_HINT)
        at += tensor.size
    if at != size:
        raise UserError(f"the header tells of {at} bytes of weights", path=str(path), got=size, hint=_HINT)
