"""A matrix in blocks of few bits, in the layout of MatMulNBits and GatherBlockQuantized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime.capi._pybind_state import (  # type: ignore[import-untyped]
    quantize_matmul_4bits,
    quantize_matmul_8bits,
)


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
