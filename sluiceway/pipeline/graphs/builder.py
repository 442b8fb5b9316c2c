"""Writes a graph node by node, with names that a person and a pass can select by: those of the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

Array = NDArray[np.float32] | NDArray[np.int64]
Dim = int | str

FLOAT = ir.DataType.FLOAT
INT64 = ir.DataType.INT64
BOOL = ir.DataType.BOOL


class Builder:
    """Collects nodes and weights of one graph. ``opset`` decides how an operator that changed is written."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self._tape = ir.tape.Tape()
        self._inputs: list[ir.Value] = []
        self._outputs: list[ir.Value] = []
        self._scope: list[str] = []
        self._used: dict[str, int] = {}
        self._constants: dict[tuple[str, bytes, tuple[int, ...]], ir.Value] = {}

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names made in the body begin with ``name.``"""
        self._scope.append(name)
        try:
            yield
        finally:
            self._scope.pop()

    def input(self, name: str, dtype: ir.DataType, shape: Sequence[Dim]) -> ir.Value:
        value = ir.val(name, dtype, list(shape))
        self._inputs.append(value)
        return value

    def output(self, name: str, value: ir.Value, dtype: ir.DataType, shape: Sequence[Dim]) -> None:
        value.name = name
        value.dtype = dtype
        value.shape = ir.Shape(list(shape))
        self._outputs.append(value)

    def op(self, kind: str, *inputs: ir.Value | None, **attributes: int | float | Sequence[int]) -> ir.Value:
        """One node with one output; both get a name under the scope that no other has."""
        name = self._name(kind)
        value = self._tape.op(kind, list(inputs), attributes or None, name=name)
        value.name = f"{name}_out"
        return value

    def weight(self, name: str, array: Array) -> ir.Value:
        """An initializer named as in the checkpoint."""
        return self._tape.initializer(ir.tensor(np.ascontiguousarray(array), name=name), name=name)

    def ints(self, *values: int) -> ir.Value:
        return self._constant(np.array(values, np.int64))

    def whole(self, value: int) -> ir.Value:
        """A scalar, shape []."""
        return self._constant(np.array(value, np.int64))

    def number(self, value: float) -> ir.Value:
        """A scalar, shape []."""
        return self._constant(np.array(value, np.float32))

    def dim(self, value: ir.Value, axis: int) -> ir.Value:
        """The length of one axis as a vector of one, shape [1]."""
        return self.op("Gather", self.op("Shape", value), self.ints(axis), axis=0)

    def concat(self, *values: ir.Value, axis: int) -> ir.Value:
        return self.op("Concat", *values, axis=axis)

    def reshape(self, value: ir.Value, *shape: int) -> ir.Value:
        """0 keeps an axis and -1 takes what is left."""
        return self.op("Reshape", value, self.ints(*shape))

    def mean_last(self, value: ir.Value) -> ir.Value:
        """The mean over the last axis, which stays with length 1. Axes became an input in opset 18."""
        if self.opset >= 18:
            return self.op("ReduceMean", value, self.ints(-1), keepdims=1)
        return self.op("ReduceMean", value, axes=[-1], keepdims=1)

    def linear(self, value: ir.Value, name: str, weight: Array, bias: Array | None) -> ir.Value:
        """``value`` times the transposed ``weight`` [out, in], as a checkpoint stores it, plus ``bias`` [out]."""
        with self.scope(name):
            value = self.op("MatMul", value, self.weight(f"{name}.weight", weight.T))
            return value if bias is None else self.op("Add", value, self.weight(f"{name}.bias", bias))

    def model(self, name: str, ir_version: int, facts: dict[str, str]) -> ir.Model:
        graph = ir.Graph(
            self._inputs,
            self._outputs,
            nodes=list(self._tape.nodes),
            initializers=list(self._tape.initializers),
            opset_imports={"": self.opset},
            name=name,
        )
        return ir.Model(
            graph, ir_version=ir_version, producer_name="sluiceway", producer_version="1", metadata_props=facts
        )

    def _constant(self, array: Array) -> ir.Value:
        key = (str(array.dtype), array.tobytes(), array.shape)
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._constants[key] = self._tape.initializer(ir.tensor(array, name=name), name=name)
        return self._constants[key]

    def _name(self, kind: str) -> str:
        stem = "/".join([*self._scope[-1:], kind])
        self._used[stem] = self._used.get(stem, 0) + 1
        count = self._used[stem]
        return stem if count == 1 else f"{stem}_{count}"
