"""A walk over a model's protobuf: each graph, each tensor, and what a tensor claims about its size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from sluiceway.errors import UserError

_BITS: dict[int, int] = {
    TensorProto.FLOAT: 32,
    TensorProto.UINT8: 8,
    TensorProto.INT8: 8,
    TensorProto.UINT16: 16,
    TensorProto.INT16: 16,
    TensorProto.INT32: 32,
    TensorProto.INT64: 64,
    TensorProto.BOOL: 8,
    TensorProto.FLOAT16: 16,
    TensorProto.DOUBLE: 64,
    TensorProto.UINT32: 32,
    TensorProto.UINT64: 64,
    TensorProto.COMPLEX64: 64,
    TensorProto.COMPLEX128: 128,
    TensorProto.BFLOAT16: 16,
    TensorProto.UINT4: 4,
    TensorProto.INT4: 4,
}
FLOATS: set[int] = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}


def parse(path: Path) -> ModelProto:
    """The protobuf in ``path``, without its external data; a UserError for what is cut off or something else."""
    try:
        model = onnx.load_model(str(path), format="protobuf", load_external_data=False)
    except DecodeError as error:
        raise _cut(path) from error
    if not model.HasField("graph") or not model.opset_import or not model.graph.output:
        raise _cut(path)
    return model


def _cut(path: Path) -> UserError:
    return UserError(
        "this is no whole ONNX model: the file is cut off, or is something else",
        path=str(path),
        got=f"{path.stat().st_size} bytes",
        hint="copy or export it again, and compare its size and sha256 with the source's",
    )


def graphs(model: ModelProto) -> Iterator[GraphProto]:
    """The main graph, then each graph that a node carries, those of functions included."""
    yield from _graphs(model.graph)
    for function in model.functions:
        yield from _inner(function.node)


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    yield from _inner(graph.node)


def _inner(nodes: Iterable[NodeProto]) -> Iterator[GraphProto]:
    for node in nodes:
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.type == AttributeProto.GRAPH else [])):
                yield from _graphs(graph)


def nodes(model: ModelProto) -> Iterator[NodeProto]:
    for graph in graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Each tensor of the model: initializers, sparse ones, and those in attributes."""
    for graph in graphs(model):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
    for node in nodes(model):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                yield attribute.t
            yield from attribute.tensors
            if attribute.type == AttributeProto.SPARSE_TENSOR:
                yield from (attribute.sparse_tensor.values, attribute.sparse_tensor.indices)


def elements(tensor: TensorProto) -> int:
    return math.prod(tensor.dims)


def byte_size(tensor: TensorProto) -> int | None:
    """Bytes that the tensor's type and dims come to; None for strings and types without a fixed size."""
    bits = _BITS.get(tensor.data_type)
    return None if bits is None else (elements(tensor) * bits + 7) // 8


def is_external(tensor: TensorProto) -> bool:
    return tensor.data_location == TensorProto.EXTERNAL
