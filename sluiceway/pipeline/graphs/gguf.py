"""Reads a GGUF file: its facts, and its tensors as float32. What it points at must lie inside it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from sluiceway.errors import UserError

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

_MOST = 1 << 20
"""Entries of a table, an array or a text: a vocabulary has a few hundred thousand."""
_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY, _DEEPEST = 8, 9, 2


@dataclass(frozen=True)
class Tensor:
    """``shape`` as numpy has it, the last axis together in memory; ``offset`` counts from the start of the file."""

    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True)
class Gguf:
    """``facts``: the file's keys. ``tensors`` by their names in the file."""

    path: Path
    facts: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    def read(self, name: str) -> Floats:
        """One tensor, widened."""
        tensor = self.tensors[name]
        _, block, size, widen = KINDS[tensor.kind]
        count = math.prod(tensor.shape) // block
        raw = np.fromfile(self.path, np.uint8, count * size, offset=tensor.offset)
        return widen(raw.reshape(count, size)).reshape(tensor.shape)


def open_gguf(path: Path) -> Gguf:
    """Raises UserError for a file that is cut off, isn't GGUF 2 or 3, or holds a kind of number not read here."""
    end = path.stat().st_size
    with path.open("rb") as file:
        reader = _Reader(file, path, end)
        if file.read(4) != b"GGUF" or reader.number("I") not in (2, 3):
            raise reader.fault("this isn't a GGUF file of version 2 or 3")
        tensors, keys = reader.count(), reader.count()
        facts = {reader.text(): reader.value(reader.number("I")) for _ in range(keys)}
        heads = [reader.tensor() for _ in range(tensors)]
        grain = facts.get("general.alignment", 32)
        if not isinstance(grain, int) or not 1 <= grain <= _MOST:
            raise reader.fault("the alignment is no sound number")
        start = -(-file.tell() // grain) * grain
    found: dict[str, Tensor] = {}
    for name, tensor in heads:
        if name in found:
            raise reader.fault(f"the tensor {name} is there twice")
        found[name] = _placed(reader, name, tensor, start, end)
    return Gguf(path, facts, found)


def _placed(reader: _Reader, name: str, tensor: Tensor, start: int, end: int) -> Tensor:
    if tensor.kind not in KINDS:
        known = ", ".join(title for title, *_ in KINDS.values())
        raise reader.fault(f"the tensor {name} has a kind of number that isn't read here; {known} are", tensor.kind)
    _, block, size, _ = KINDS[tensor.kind]
    offset = start + tensor.offset
    if not tensor.shape or tensor.shape[-1] % block or offset + math.prod(tensor.shape) // block * size > end:
        raise reader.fault(f"the tensor {name} doesn't lie in the file")
    return Tensor(tensor.shape, tensor.kind, offset)


class _Reader:
    def __init__(self, file: BinaryIO, path: Path, end: int) -> None:
        self._file, self._path, self._end = file, path, end

    def fault(self, message: str, got: object = None) -> UserError:
        hint = "fetch it again, or take the model's safetensors"
        return UserError(message, path=str(self._path), hint=hint, **({} if got is None else {"got": got}))

    def take(self, size: int) -> bytes:
        if size > self._end - self._file.tell():
            raise self.fault("the file is cut off")
        return self._file.read(size)

    def number(self, kind: str) -> Any:  # noqa: ANN401 - as the kind says
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]

    def count(self) -> int:
        count: int = self.number("Q")
        if count > _MOST:
            raise self.fault("a table has too many entries", count)
        return count

    def text(self) -> str:
        return self.take(self.count()).decode("utf-8", errors="replace")

    def value(self, kind: int, depth: int = 0) -> Any:  # noqa: ANN401 - as the kind says
        if kind == _TEXT:
            return self.text()
        if kind == _ARRAY and depth < _DEEPEST:
            inner, count = self.number("I"), self.count()
            return [self.value(inner, depth + 1) for _ in range(count)]
        if kind not in _SCALARS:
            raise self.fault("a key has a kind of value that doesn't exist", kind)
        return self.number(_SCALARS[kind])

    def tensor(self) -> tuple[str, Tensor]:
        name, axes = self.text(), self.number("I")
        if axes > 4:
            raise self.fault(f"the tensor {name} has more than four axes", axes)
        shape = tuple(int(self.number("Q")) for _ in range(axes))[::-1]
        return name, Tensor(shape, self.number("I"), self.number("Q"))


def _halves(raw: Bytes, start: int) -> Floats:
    """The float16 at byte ``start`` of each block, as a column."""
    return np.ascontiguousarray(raw[:, start : start + 2]).view(np.float16).astype(np.float32)


def _nibbles(raw: Bytes) -> Floats:
    """16 bytes a block: their low halves are the first 16 numbers, their high halves the last."""
    return np.concatenate([raw & 15, raw >> 4], axis=1).astype(np.float32)


def _f32(raw: Bytes) -> Floats:
    return raw.reshape(-1).view(np.float32).copy()


def _f16(raw: Bytes) -> Floats:
    return raw.reshape(-1).view(np.float16).astype(np.float32)


def _q4_0(raw: Bytes) -> Floats:
    return (_nibbles(raw[:, 2:]) - 8) * _halves(raw, 0)


def _q4_1(raw: Bytes) -> Floats:
    return _nibbles(raw[:, 4:]) * _halves(raw, 0) + _halves(raw, 2)


def _q8_0(raw: Bytes) -> Floats:
    return np.ascontiguousarray(raw[:, 2:]).view(np.int8).astype(np.float32) * _halves(raw, 0)


KINDS: Final[Mapping[int, tuple[str, int, int, Callable[[Bytes], Floats]]]] = {
    0: ("F32", 1, 4, _f32),
    1: ("F16", 1, 2, _f16),
    2: ("Q4_0", 32, 18, _q4_0),
    3: ("Q4_1", 32, 20, _q4_1),
    8: ("Q8_0", 32, 34, _q8_0),
}
"""A kind's number in the file -> its name, numbers a block, bytes a block, and how a block is widened."""
