"""Which axes of a model's inputs and outputs are batch and length, and whether they are free to change."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto
from onnx import TensorProto as T

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import proto
from sluiceway.pipeline.checks.facts import Port

_READ_THROUGH = ("DequantizeLinear", "Cast", "Identity", "Reshape")
_INTEGERS = ("int32", "int64")
_HINT = "export with this axis dynamic, from an example with a batch of at least 2 and a length of at least 3"


def ports(model: ModelProto) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Inputs (without those that an initializer gives) and outputs of the graph."""
    given = {tensor.name for tensor in model.graph.initializer}
    inputs = tuple(_port(value) for value in model.graph.input if value.name not in given)
    return inputs, tuple(_port(value) for value in model.graph.output)


def _port(value: ValueInfoProto) -> Port:
    if value.type.WhichOneof("value") != "tensor_type":
        return Port(value.name, str(value.type.WhichOneof("value")), None)
    tensor: TypeProto.Tensor = value.type.tensor_type
    known = tensor.elem_type in T.DataType.values()
    kind = T.DataType.Name(tensor.elem_type).lower() if known else f"type {tensor.elem_type}"
    if not tensor.HasField("shape"):
        return Port(value.name, kind, None)
    dims = tuple(dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None) for dim in tensor.shape.dim)
    return Port(value.name, kind, dims)


def free_axes(port: Port) -> dict[int, str]:
    """Axes of an input that must be free, with what they are: batch, length, or past length of a cache."""
    rank = len(port.dims or ())
    axes = {0: "batch"} if rank >= 2 else {}
    if rank == 2 and port.kind in _INTEGERS:
        axes[1] = "length"
    if rank == 4:
        axes[2] = "past length"
    return axes


def check(inputs: Sequence[Port], outputs: Sequence[Port], path: str) -> None:
    """Refuses an input or output whose batch or length axis is a number."""
    for port in inputs:
        for axis, what in free_axes(port).items():
            _free(port, axis, what, f"{path}: input {port.name}")
    tokens = any(len(port.dims or ()) == 2 and port.kind in _INTEGERS for port in inputs)
    for port in outputs:
        rank = len(port.dims or ())
        if rank >= 2 and any(free_axes(other) for other in inputs):
            _free(port, 0, "batch", f"{path}: output {port.name}")
        if rank == 3 and tokens:
            _free(port, 1, "length", f"{path}: output {port.name}")


def _free(port: Port, axis: int, what: str, path: str) -> None:
    size = (port.dims or ())[axis]
    if isinstance(size, int):
        raise UserError(f"the {what} axis ({axis}) is frozen at a number", path=path, got=size, hint=_HINT)


def table_rows(graph: GraphProto, name: str) -> int | None:
    """Rows of the table that the integer input ``name`` is looked up in, if it is looked up in one at once."""
    rows: dict[str, int] = {tensor.name: tensor.dims[0] for tensor in graph.initializer if len(tensor.dims) in (2, 3)}
    made = {output: node for node in graph.node for output in node.output}
    same = {name}
    for node in graph.node:
        if node.op_type in ("Cast", "Identity") and same.intersection(node.input):
            same.update(node.output)
        if node.op_type not in ("Gather", "GatherBlockQuantized") or not same.intersection(node.input[1:2]):
            continue
        table = node.input[0]
        # A quantised table is read through these.
        seen: set[str] = set()
        while table not in seen and table in made and made[table].op_type in _READ_THROUGH and made[table].input:
            seen.add(table)
            table = made[table].input[0]
        if table in rows:
            return rows[table]
    return None


def vocabulary(model: ModelProto, inputs: Sequence[Port]) -> int | None:
    """Rows of the first input's table: input_ids where there is one of that name, else the first that is looked up."""
    integers = [port.name for port in inputs if port.kind in _INTEGERS]
    for name in sorted(integers, key=lambda name: name != "input_ids"):
        found = table_rows(model.graph, name)
        if found is not None:
            return found
    return None


def weight_count(model: ModelProto) -> tuple[int, int]:
    """Float tensors of rank 1 and more among the initializers, and their elements."""
    found = [
        proto.elements(tensor)
        for graph in proto.graphs(model)
        for tensor in graph.initializer
        if tensor.data_type in proto.FLOATS and len(tensor.dims) > 0
    ]
    return len(found), sum(found)
