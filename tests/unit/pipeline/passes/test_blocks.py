"""Weights in blocks of few bits: the layout, and how near the numbers come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sluiceway.pipeline.passes import blocks
from sluiceway.pipeline.passes.blocks import Packed


def matrix(rows: int = 64, depth: int = 100) -> NDArray[Any]:
    """Rows of chance, after one of zeros, one of a single value and one on one side of zero."""
    found = np.random.default_rng(3).standard_normal((rows, depth)).astype(np.float32)
    found[0] = 0
    found[1] = 0.25
    found[2] = np.abs(found[2]) + 3
    return found


def values(packed: Packed, bits: int, block: int, depth: int) -> NDArray[Any]:
    """The numbers that the blocks stand for, (N, K), read as the operators' documentation lays them out."""
    count = packed.scales.shape[1]
    numbers = _unpacked(packed.values.reshape(len(packed.values), -1), bits).reshape(-1, count, block)
    zeros = np.full(packed.scales.shape, 2 ** (bits - 1)) if packed.zeros is None else _unpacked(packed.zeros, bits)
    shifted = numbers.astype(np.float32) - zeros[:, :count, None].astype(np.float32)
    return (shifted * packed.scales[..., None]).reshape(len(numbers), -1)[:, :depth]


def _unpacked(packed: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    if bits == 8:
        return packed
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("bits", "worst"), [(8, 0.02), (4, 0.4)])
def test_a_matrix_comes_back_within_its_step(bits: int, worst: float, symmetric: bool) -> None:
    given = matrix()
    packed = blocks.by_range(given, bits, 32, symmetric)
    assert packed.values.shape == (64, 4, 32 * bits // 8) and packed.scales.shape == (64, 4)
    assert packed.zeros is None if symmetric else packed.zeros is not None and packed.zeros.shape == (64, bits // 2)
    assert np.abs(values(packed, bits, 32, 100)[3:] - given[3:]).max() < worst
    assert np.abs(values(packed, bits, 32, 100)[0]).max() == 0


def test_an_outlier_ruins_its_own_block_alone() -> None:
    given = matrix()
    given[10, 5] = 200
    found = values(blocks.by_range(given, 4, 32, symmetric=True), 4, 32, 100)
    assert np.abs(found[10, :32] - given[10, :32]).mean() > 0.5
    assert np.abs(found[10, 32:] - given[10, 32:]).max() < 0.4
