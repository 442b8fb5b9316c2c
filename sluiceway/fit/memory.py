"""Bytes: of the weights after each quantisation, and of the cache that a context fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sluiceway.fit.count import Parameters
from sluiceway.fit.shape import Precision, Shape

CONTEXTS: Final = (8_192, 16_384, 131_072)
CACHE_BYTES: Final = {"bf16": 2, "fp8": 1}
"""Cache dtypes and the bytes of an element; int8 is as wide as fp8."""

MATRICES: Final = ("attention", "indexer", "mlp", "experts", "shared_experts", "pooler")
TABLES: Final = ("embedding", "head")
SMALL: Final = ("norms", "router")


@dataclass(frozen=True)
class Format:
    """Bits of a weight, its share of the scales counted: in matrices, in the two tables, in norms and routers."""

    name: str
    matrix: float
    table: float
    small: float
    note: str


FORMATS: Final = (
    Format("fp32", 32, 32, 32, ""),
    Format("bf16", 16, 16, 16, "fp16 has the same size"),
    Format("fp8", 8 + 32 / (128 * 128), 16, 16, "a 32-bit scale for each 128 x 128; tables stay in 16 bits"),
    Format("int8", 8 + 16 / 128, 8 + 16 / 128, 16, "a 16-bit scale for each 128"),
    Format("int4", 4 + 16 / 32, 8 + 16 / 128, 16, "a 16-bit scale for each 32; tables in 8 bits"),
)
BY_NAME: Final = {format.name: format for format in FORMATS}


def weights(counted: Parameters, format: Format, *, experts: bool = True, rest: bool = True) -> int:
    """Bytes of the whole model; ``experts`` or ``rest`` False leaves the routed experts, or all others, out."""
    bits = counted.experts * format.matrix if experts else 0.0
    if rest:
        bits += sum(getattr(counted, part) for part in MATRICES if part != "experts") * format.matrix
        bits += sum(getattr(counted, part) for part in TABLES) * format.table
        bits += sum(getattr(counted, part) for part in SMALL) * format.small
    return _bytes(bits)


def as_published(counted: Parameters, precision: Precision) -> int | None:
    """Bytes of the files as they are published; None where the quantisation isn't known."""
    if precision.method is None:
        return counted.total * precision.dtype_bits // 8
    if precision.bits is None:
        return None
    plain, bits = 0, 0.0
    for part in (*MATRICES, *TABLES, *SMALL):
        if part in MATRICES and part not in precision.kept:
            bits += getattr(counted, part) * precision.bits
        else:
            plain += getattr(counted, part)
    return _bytes(bits + plain * precision.dtype_bits)


def nearest(precision: Precision) -> str:
    """The format of FORMATS to serve the model in as it was published: bf16, fp8 or int4."""
    bits = precision.bits or 16
    return "bf16" if bits > 12 else "fp8" if bits > 6 else "int4"


def cache(shape: Shape, context: int, width: int) -> int:
    """Bytes that one sequence of ``context`` tokens keeps, at ``width`` bytes an element; 0 for an encoder."""
    if shape.encoder:
        return 0
    elements = sum(shape.attention.cached * min(context, window or context) for window in shape.windows)
    return (elements + _indexed(shape, context)) * width


def cache_read(shape: Shape, context: int, width: int) -> int:
    """Bytes of it that are read to write one more token: sparse attention reads only what its indexer picks."""
    if shape.encoder or shape.indexer is None:
        return cache(shape, context, width)
    picked = min(context, shape.indexer.topk) * shape.attention.cached * shape.layers
    return (picked + _indexed(shape, context)) * width


def _indexed(shape: Shape, context: int) -> int:
    return shape.indexer.layers * shape.indexer.dim * context if shape.indexer else 0


def _bytes(bits: float) -> int:
    return -int(-bits // 8)
