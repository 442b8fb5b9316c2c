"""The passes of a recipe: each makes another model of one, checks it and runs it, and says what it changed.

Importing this costs nothing: onnx, onnxruntime and numpy come in when a pass runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError
from sluiceway.pipeline.passes.beside import BesidePass
from sluiceway.pipeline.passes.fold import FoldPass
from sluiceway.pipeline.passes.fp16 import Fp16Pass
from sluiceway.pipeline.passes.int4_weights import Int4WeightsPass
from sluiceway.pipeline.passes.int8_dynamic import Int8DynamicPass
from sluiceway.pipeline.passes.int8_static import Int8StaticPass
from sluiceway.pipeline.passes.int8_weights import Int8WeightsPass
from sluiceway.pipeline.passes.settings import PASS_BLOCKS, PassBlock
from sluiceway.pipeline.types import Pass
from sluiceway.settings.faults import told

Settings = Mapping[str, Any]
_MADE: Final[Mapping[str, Callable[[Any], Pass]]] = {
    "fold": FoldPass,
    "beside": BesidePass,
    "fp16": Fp16Pass,
    "int8-dynamic": Int8DynamicPass,
    "int8-static": Int8StaticPass,
    "int8-weights": Int8WeightsPass,
    "int4-weights": Int4WeightsPass,
}


def make(settings: Settings, where: Callable[[str], str] = str) -> Pass:
    """The pass that ``settings`` (with its ``kind``) describe; ``where`` turns the dotted path of a value into words.

    A UserError at the first setting that no pass takes.
    """
    kind = str(settings.get("kind", ""))
    if kind not in PASS_BLOCKS:
        near = nearest(kind, tuple(PASS_BLOCKS))
        hint = f"did you mean {near}?" if near else f"kinds: {', '.join(PASS_BLOCKS)}"
        raise UserError("no pass of this kind", path=where("kind"), got=kind, hint=hint)
    block = PASS_BLOCKS[kind]
    try:
        return _MADE[kind](block.model_validate(dict(settings)))
    except ValidationError as error:
        raise told(error, block, where) from None


def _maker(kind: str) -> Callable[[Settings], Pass]:
    return lambda settings: make({**settings, "kind": kind})


PASSES: Final[Mapping[str, Callable[[Settings], Pass]]] = MappingProxyType({kind: _maker(kind) for kind in _MADE})
"""The pass of each kind from its settings, with or without ``kind`` among them."""

__all__ = ["PASSES", "PASS_BLOCKS", "PassBlock", "make"]
