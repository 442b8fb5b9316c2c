"""A matrix in blocks of few bits, in the layout of MatMulNBits and GatherBlockQuantized."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime.capi._pybind_state import (  # type: ignore[import-untyped]
    quantize_matmul_4bits,
    quantize_matmul_8bits,
)

_ROWS_AT_ONCE = 2**21
"""Elements that the search for the least error takes at once: it holds about ten arrays of that size."""


@dataclass(frozen=True)
class Packed:
    """Of a matrix (N, K) in ``k = ceil(K / block)`` blocks a row.

    ``values``: uint8 (N, k, block * bits / 8), the lower half of a byte first. ``scales``: float32 (N, k).
    ``zeros``: uint8 (N, ceil(k * bits / 8)), or None where the middle of the range is zero.
    """

    values: NDArray[np.uint8]
    scales: NDArray[np.float32]
    zeros: NDArray[np.uint8] | None

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.scales.nbytes + (0 if self.zeros is None else self.zeros.nbytes)


def by_range(matrix: NDArray[Any], bits: int, block: int, symmetric: bool) -> Packed:
    """``matrix``: float32 (N, K). Scales from the range of each block, by onnxruntime's own kernel."""
    n, k = matrix.shape
    blocks = -(-k // block)
    turned = np.zeros((blocks * block, n), np.float32)
    turned[:k] = matrix.T
    values = np.zeros((n, blocks, block * bits // 8), np.uint8)
    scales = np.zeros((n, blocks), np.float32)
    zeros = np.zeros((n, -(-blocks * bits // 8)), np.uint8)
    kernel = quantize_matmul_8bits if bits == 8 else quantize_matmul_4bits
    kernel(values, turned, scales, zeros, block, n, k, symmetric)
    return Packed(values, scales, None if symmetric else zeros)


def by_least_error(matrix: NDArray[Any], bits: int, block: int, symmetric: bool) -> Packed:
    """The same with the scales that a search finds to give the least weighted error of each block."""
    n, k = matrix.shape
    blocks = -(-k // block)
    padded = np.zeros((n, blocks * block), np.float32)
    padded[:, :k] = matrix
    flat = padded.reshape(-1, block)
    step = max(_ROWS_AT_ONCE // block, 1)
    parts = [_search(flat[start : start + step], bits, symmetric) for start in range(0, len(flat), step)]
    values, scales, zeros = (np.concatenate([part[at] for part in parts]) for at in range(3))
    return Packed(
        _pack(values.reshape(n, blocks, block), bits),
        scales.reshape(n, blocks),
        None if symmetric else _pack(zeros.reshape(n, blocks), bits),
    )


def _search(rows: NDArray[Any], bits: int, symmetric: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Values, scales and zero points of each row: the best of ranges around the row's own.

    A large value of a row counts more: what it is multiplied by moves the sum more.
    """
    weight = np.abs(rows) + np.sqrt((rows**2).mean(axis=1, keepdims=True))
    best: list[NDArray[Any]] = []
    for scale, zero in _symmetric_grids(rows, bits) if symmetric else _grids(rows, bits):
        found = _fitted(rows, weight, scale, zero, bits)
        if not best:
            best = list(found)
            continue
        better = (found[0] < best[0])[:, 0]
        for kept, other in zip(best, found, strict=True):
            kept[better] = other[better]
    return best[1].astype(np.uint8), best[2].astype(np.float32), best[3].astype(np.uint8)


def _symmetric_grids(rows: NDArray[Any], bits: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Scales around the one that puts a row's largest value on the end of the range; zero is in the middle."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1, keepdims=True), axis=1)
    middle = 2 ** (bits - 1)
    for factor in np.linspace(1.1, 0.7, 17, dtype=np.float32):
        yield np.where(largest != 0, -largest / middle * factor, np.float32(1)), np.full_like(largest, middle)


def _grids(rows: NDArray[Any], bits: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Scales and zero points for a row's range, and for ranges that are cut at either end."""
    most = 2**bits - 1
    low = np.minimum(rows.min(axis=1, keepdims=True), 0)
    high = np.maximum(rows.max(axis=1, keepdims=True), 0)
    cuts = (np.float32(1), np.float32(0.9), np.float32(0.8), np.float32(0.7))
    for below in cuts:
        for above in cuts:
            scale = np.where(high > low, (high * above - low * below) / most, np.float32(1))
            yield scale, np.clip(np.round(-low * below / scale), 0, most)


def _fitted(
    rows: NDArray[Any], weight: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any], bits: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Weighted error, values, scale and zero point of rows rounded at ``scale``, which is then fitted to the values."""
    values = np.clip(np.round(rows / scale) + zero, 0, 2**bits - 1)
    steps = values - zero
    norm = (weight * steps * steps).sum(axis=1, keepdims=True)
    fitted = np.where(norm > 0, (weight * steps * rows).sum(axis=1, keepdims=True) / np.where(norm > 0, norm, 1), scale)
    error = (weight * (steps * fitted - rows) ** 2).sum(axis=1, keepdims=True)
    return error, values, fitted, zero


def _pack(values: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Along the last axis, padded with zeros to whole bytes."""
    if bits == 8:
        return values.astype(np.uint8)
    if values.shape[-1] % 2:
        values = np.concatenate([values, np.zeros_like(values[..., :1])], axis=-1)
    packed: NDArray[np.uint8] = (values[..., ::2] | (values[..., 1::2] << 4)).astype(np.uint8)
    return packed
