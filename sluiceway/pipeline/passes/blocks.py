"""A matrix in blocks of few bits, in the layout of MatMulNBits and GatherBlockQuantized."""

from __future__ import annotations

import warnings
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


def by_least_error(matrix: NDArray[Any], bits: int, block: int) -> Packed:
    """The same with zero points, and scales that a search finds to give the least weighted error of each block."""
    n, k = matrix.shape
    blocks = -(-k // block)
    padded = np.zeros((n, blocks * block), np.float32)
    padded[:, :k] = matrix
    flat = padded.reshape(-1, block)
    step = max(_ROWS_AT_ONCE // block, 1)
    parts = [_search(flat[start : start + step], bits) for start in range(0, len(flat), step)]
    values, scales, zeros = (np.concatenate([part[at] for part in parts]) for at in range(3))
    return Packed(
        _pack(values.reshape(n, blocks, block), bits),
        scales.reshape(n, blocks).astype(np.float32),
        _pack(zeros.reshape(n, blocks), bits),
    )


def _search(rows: NDArray[Any], bits: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """onnxruntime's k-quant, and the plain range in each block where that has the smaller error.

    k-quant can't say a block that lies on one side of zero.
    """
    from onnxruntime.quantization.neural_compressor.weight_only import (  # type: ignore[import-untyped]
        quant_tensor_k_quant_cpu,
    )

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, scales, zeros = quant_tensor_k_quant_cpu(rows, bits, rows.shape[1])
        plain = _range(rows, bits)
        worse = ~(_error(rows, values, scales, zeros) <= _error(rows, *plain))[:, 0]
    for found, other in zip((values, scales, zeros), plain, strict=True):
        found[worse] = other[worse]
    return values.astype(np.uint8), scales, zeros.astype(np.uint8)


def _range(rows: NDArray[Any], bits: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    most = 2**bits - 1
    low = np.minimum(rows.min(axis=1, keepdims=True), 0)
    high = np.maximum(rows.max(axis=1, keepdims=True), 0)
    scales = np.where(high > low, (high - low) / most, 1)
    zeros = np.clip(np.round(-low / scales), 0, most)
    return np.clip(np.round(rows / scales) + zeros, 0, most), scales, zeros


def _error(rows: NDArray[Any], values: NDArray[Any], scales: NDArray[Any], zeros: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = (((values - zeros.astype(np.float64)) * scales - rows) ** 2).sum(axis=1, keepdims=True)
    return found


def _pack(values: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Along the last axis, padded with zeros to whole bytes."""
    if bits == 8:
        return values.astype(np.uint8)
    if values.shape[-1] % 2:
        values = np.concatenate([values, np.zeros_like(values[..., :1])], axis=-1)
    packed: NDArray[np.uint8] = (values[..., ::2] | (values[..., 1::2] << 4)).astype(np.uint8)
    return packed
