"""Inputs for a trial run: for each input of a session, values of the right type and size, the same each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import axes
from sluiceway.pipeline.checks.facts import Port

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAST = 3
"""Tokens in a cache on a trial run: a number that is neither batch nor length in the usual trials."""
_KINDS: dict[str, Any] = {
    "float": np.float32,
    "float16": np.float16,
    "double": np.float64,
    "int32": np.int32,
    "int64": np.int64,
    "bool": np.bool_,
    "uint8": np.uint8,
    "int8": np.int8,
}


def sizes(inputs: Sequence[Port], batch: int, length: int) -> dict[str, int]:
    """What each symbol of the inputs stands for on a run of ``batch`` rows of ``length``."""
    found: dict[str, int] = {}
    cached = any(len(port.dims or ()) >= 3 for port in inputs)
    values = {"batch": batch, "length": length, "past length": PAST}
    for port in inputs:
        for axis, what in axes.free_axes(port).items():
            symbol = (port.dims or ())[axis]
            if isinstance(symbol, str) and not (what == "length" and cached and _spans_past(port)):
                found.setdefault(symbol, values[what])
    for port in inputs:
        for symbol in port.dims or ():
            if isinstance(symbol, str):
                found.setdefault(symbol, length + PAST if cached and _spans_past(port) else length)
    return found


def _spans_past(port: Port) -> bool:
    """Whether a token input covers the cache too, as a mask does."""
    return "mask" in port.name


def make(inputs: Sequence[Port], rows: Mapping[str, int], batch: int, length: int) -> dict[str, NDArray[Any]]:
    """One array for each input; ``rows``: how many rows the table of an integer input has (2 where it is not known)."""
    bound = sizes(inputs, batch, length)
    cached = any(len(port.dims or ()) >= 3 for port in inputs)
    return {port.name: _values(port, bound, rows.get(port.name, 2), (batch, length), cached) for port in inputs}


def _values(port: Port, bound: Mapping[str, int], rows: int, run: tuple[int, int], cached: bool) -> NDArray[Any]:
    shape = tuple(_size(port, axis, bound, run) for axis in range(len(port.dims or ())))
    if port.kind == "string":
        return np.resize(np.array(["a word", "两个词", ""], dtype=object), shape)
    kind = _KINDS.get(port.kind)
    if kind is None or port.dims is None:
        raise UserError(
            "an input is of a type that can't be tried", path=port.name, got=port.kind, hint="export it as a tensor"
        )
    count = int(np.prod(shape))
    if "mask" in port.name:
        return _mask(shape).astype(kind)
    if "position" in port.name and len(shape) == 2:
        start = PAST if cached else 0
        return np.broadcast_to(np.arange(start, start + shape[1]), shape).astype(kind)
    if np.issubdtype(kind, np.floating):
        return (np.sin(np.arange(count)) * 0.5).reshape(shape).astype(kind)
    return ((np.arange(count) * 7 + 1) % max(rows, 1)).reshape(shape).astype(kind)


def _size(port: Port, axis: int, bound: Mapping[str, int], run: tuple[int, int]) -> int:
    size = (port.dims or ())[axis]
    if isinstance(size, int):
        return size
    if size is not None:
        return bound[size]
    what = axes.free_axes(port).get(axis, "length")
    return {"batch": run[0], "length": run[1], "past length": PAST}[what]


def _mask(shape: tuple[int, ...]) -> NDArray[Any]:
    """Ones; in a batch the last row ends in padding, since that is where a mask goes wrong."""
    mask = np.ones(shape, np.int64)
    if len(shape) == 2 and shape[0] > 1 and shape[1] > 1:
        mask[-1, (shape[1] + 1) // 2 :] = 0
    return mask
