"""Weights that are no numbers: NaN anywhere, infinity in what is multiplied or looked up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, numpy_helper

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import external, proto

if TYPE_CHECKING:
    from numpy.typing import NDArray

# An attention mask may hold -inf; an operand of these may not.
WEIGHED = {"MatMul", "Gemm", "Gather", "Conv", "LayerNormalization", "RMSNormalization", "Mul", "Attention", "LSTM"}
_CHUNK = 2**24
_HINT = "take another checkpoint: training or conversion went wrong before this"


def check(model: ModelProto, folder: Path) -> None:
    """Refuses NaN in any tensor or list of an attribute, and infinity in an operand of a weighing operator."""
    weighed = {name for node in proto.nodes(model) if node.op_type in WEIGHED for name in node.input}
    for tensor in proto.tensors(model):
        if tensor.data_type in proto.FLOATS and proto.elements(tensor):
            for part in _parts(tensor, folder):
                _refuse(part, tensor.name, tensor.name in weighed and proto.elements(tensor) > 1)
    for node in proto.nodes(model):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.FLOATS and not all(map(math.isfinite, attribute.floats)):
                raise UserError(
                    "a weight is NaN or infinite", path=f"{node.name or node.op_type}.{attribute.name}", hint=_HINT
                )


def _refuse(values: NDArray[Any], name: str, finite: bool) -> None:
    if bool(np.isnan(values).any()):
        bad = int(np.isnan(values).sum())
        raise UserError("a weight is NaN", path=name, got=f"{bad} of {values.size} values", hint=_HINT)
    if finite and not bool(np.isfinite(values).all()):
        bad = int(values.size - np.isfinite(values).sum())
        raise UserError("a weight is infinite", path=name, got=f"{bad} of {values.size} values", hint=_HINT)


def _parts(tensor: TensorProto, folder: Path) -> Iterator[NDArray[Any]]:
    """The values as numpy floats, at most `_CHUNK` at once where they lie in a file."""
    if not proto.is_external(tensor):
        try:
            yield _floats(numpy_helper.to_array(tensor))
        except ValueError as error:
            raise UserError(
                "a tensor holds other values than its type and dims say",
                path=tensor.name,
                got=f"{list(tensor.dims)}",
                hint="the model was cut off or changed: copy or export it again",
            ) from error
        return
    found = external.where(tensor)
    kind = np.uint16 if tensor.data_type == TensorProto.BFLOAT16 else _NUMPY[tensor.data_type]
    size, width = proto.elements(tensor), np.dtype(kind).itemsize
    for start in range(0, size, _CHUNK):
        # Mapped piece by piece: the pages of a whole tensor would count as this process's memory.
        here = found.offset + start * width
        part = np.memmap(folder / found.file, kind, "r", here, (min(_CHUNK, size - start),))
        # A bfloat16 is the upper half of a float32.
        yield (part.astype(np.uint32) << 16).view(np.float32) if kind is np.uint16 else part


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype.kind == "f" else values.astype(np.float32)


_NUMPY: dict[int, Any] = {TensorProto.FLOAT: "<f4", TensorProto.FLOAT16: "<f2", TensorProto.DOUBLE: "<f8"}
