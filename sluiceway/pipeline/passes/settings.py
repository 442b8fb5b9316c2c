"""What a recipe may state about each pass."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from sluiceway.domain.fault import Fault
from sluiceway.settings.fields import Block, Listed, Rows

SMALLEST_BLOCK = 16
LARGEST_BLOCK = 256


def _block(size: int) -> int:
    if not SMALLEST_BLOCK <= size <= LARGEST_BLOCK or size & (size - 1):
        raise Fault(
            f"a block is a power of two from {SMALLEST_BLOCK} to {LARGEST_BLOCK}",
            got=size,
            hint="write 32, which every runtime takes; a larger one is smaller on disk and worse",
        )
    return size


BlockSize = Annotated[int, AfterValidator(_block), Field(description="a power of two from 16 to 256")]
Shape = Annotated[Rows[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=4)]


class Chosen(Block):
    """Which weights: those of one ``shape`` as it stands in the file, or the ``last`` ones before the outputs.

    ``pick``: of those found, all of them, or ``ends``: the first and last eighth and each third between.
    """

    shape: Shape | None = None
    last: Annotated[int, Field(ge=1, le=1000)] | None = None
    pick: Literal["all", "ends"] = "all"

    @model_validator(mode="after")
    def _one(self) -> Chosen:
        if (self.shape is None) == (self.last is None):
            raise Fault(
                "weights are chosen by their shape or by their place",
                hint="write {shape: [576, 1536]}, or {last: 1} for the one before the outputs",
            )
        return self


Choices = Rows[Chosen]


class Fold(Block):
    """``tied``: whether the table of embeddings that is also the head becomes two weights, or stays one."""

    kind: Literal["fold"] = "fold"
    tied: Literal["own", "shared"] = "own"


class Fp16(Block):
    kind: Literal["fp16"] = "fp16"


class Beside(Block):
    """``least``: bytes from which a weight moves."""

    kind: Literal["beside"] = "beside"
    least: Annotated[int, Field(ge=256, le=1_048_576)] = 1024


class Int8Dynamic(Block):
    """``keep``: weights that stay floats."""

    kind: Literal["int8-dynamic"] = "int8-dynamic"
    per_channel: bool = True
    ops: Listed[Literal["MatMul", "Gemm", "Gather", "Conv"]] = ("MatMul", "Gather")
    keep: Choices = ()


class Int8Static(Block):
    """``calibration``: a file of rows {"text": ...}. ``method``: how the range of an activation is found."""

    kind: Literal["int8-static"] = "int8-static"
    calibration: Annotated[str, Field(min_length=1)]
    activations: Literal["u8", "s16"] = "u8"
    per_channel: bool = True
    method: Literal["minmax", "entropy", "percentile"] = "minmax"
    length: Annotated[int, Field(ge=4, le=8192, description="tokens that each row is cut or padded to")] = 128
    keep: Choices = ()


class Int8Weights(Block):
    """``embedding``: what the table of embeddings becomes; a tied one is shared with the head where both are int8.

    ``accuracy``: the accuracy level of MatMulNBits, 4 multiplies in int8 and 0 in float.
    """

    kind: Literal["int8-weights"] = "int8-weights"
    block: BlockSize = 32
    symmetric: bool = True
    head: Literal["int8", "fp32"] = "int8"
    embedding: Literal["int8", "fp32"] = "int8"
    accuracy: Literal[0, 1, 4] = 4
    keep: Choices = ()


class Int4Weights(Block):
    """``tied``: whether one quantised table is embedding and head, at the head's precision, or each has its own.

    ``embedding`` is for a table that is not shared. ``int8``: weights that get 8 bits, ``keep``: weights that stay
    floats.
    """

    kind: Literal["int4-weights"] = "int4-weights"
    block: BlockSize = 32
    symmetric: bool = True
    head: Literal["int8", "fp32", "int4"] = "int8"
    tied: Literal["shared", "own"] = "shared"
    embedding: Literal["int4", "int8", "fp32"] = "int4"
    accuracy: Literal[0, 1, 4] = 4
    int8: Choices = ()
    keep: Choices = ()


PassBlock = Fold | Beside | Fp16 | Int8Dynamic | Int8Static | Int8Weights | Int4Weights
PASS_BLOCKS: Final[Mapping[str, type[PassBlock]]] = MappingProxyType(
    {
        "fold": Fold,
        "beside": Beside,
        "fp16": Fp16,
        "int8-dynamic": Int8Dynamic,
        "int8-static": Int8Static,
        "int8-weights": Int8Weights,
        "int4-weights": Int4Weights,
    }
)
