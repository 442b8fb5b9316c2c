"""fp16: float32 weights and arithmetic become float16; inputs and outputs stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluiceway.errors import UserError
from sluiceway.pipeline.passes import run
from sluiceway.pipeline.passes.settings import Fp16
from sluiceway.pipeline.types import Model, PassReport

LARGEST = 65504.0
"""The largest float16."""


@dataclass(frozen=True)
class Fp16Pass:
    """Half the bytes. On a processor it is a format to store in, no faster; a GPU takes it as it is."""

    settings: Fp16
    kind: str = "fp16"
    version: int = 1

    def run(self, source: Model, out: Path) -> PassReport:
        """A UserError if a weight is too large for float16; SluicewayError if no weight was float32."""
        return run.execute(self.kind, source, out, lambda folder: _convert(source, folder))


def _convert(source: Model, folder: Path) -> run.Asked:
    import numpy as np
    import onnx_ir as ir
    from onnx_ir.passes import common
    from onnxruntime.transformers.float16 import convert_float_to_float16  # type: ignore[import-untyped]

    from sluiceway.pipeline.passes import quiet, store, weights

    model = store.load(source.path)
    found = [use for use in weights.uses(model) if use.value.dtype == ir.DataType.FLOAT]
    values = weights.tensors(found)
    for name, value in values.items():
        largest = float(np.abs(value.const_value.numpy()).max()) if value.const_value is not None else 0.0
        if not largest <= LARGEST:
            raise UserError("a weight is too large for float16", path=name, got=largest, hint="keep it at 32 bits")
    ir.external_data.load_to_model(model)
    proto = ir.serde.serialize_model(model)
    with quiet.library():
        converted = convert_float_to_float16(
            proto, keep_io_types=True, disable_shape_infer=store.weigh(model) > store.INLINE_LIMIT
        )
    asked = run.names(found)
    _rename(converted, asked)
    made = ir.serde.deserialize_model(converted)
    # The converter puts its casts at the end of the graph, wherever they are read.
    common.TopologicalSortPass()(made)
    store.save(made, folder)
    return run.Asked(asked, asked, 2 * sum(asked.values()))


def _rename(proto: object, asked: dict[str, int]) -> None:
    """Float16 weights get a name of their own, so that what is still float32 under the old one shows."""
    from onnx import ModelProto, TensorProto

    assert isinstance(proto, ModelProto)
    new = {
        tensor.name: f"{tensor.name}_fp16"
        for tensor in proto.graph.initializer
        if tensor.name in asked and tensor.data_type == TensorProto.FLOAT16
    }
    for tensor in proto.graph.initializer:
        tensor.name = new.get(tensor.name, tensor.name)
    for node in proto.graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = new.get(name, name)
