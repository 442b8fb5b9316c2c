"""Puts MatMulNBits and GatherBlockQuantized in place of the nodes that read float weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from sluiceway.pipeline.passes import blocks
from sluiceway.pipeline.passes.weights import Use

DOMAIN = "com.microsoft"


@dataclass(frozen=True)
class _Stored:
    """A quantised weight as the graph has it; ``zeros`` is None where there are none."""

    values: ir.Value
    scales: ir.Value
    zeros: ir.Value | None


class Writer:
    """Rewrites the uses of one model, each weight quantised once for each number of bits."""

    def __init__(self, model: ir.Model, block: int, symmetric: bool, accuracy: int) -> None:
        self._model = model
        self._block = block
        self._symmetric = symmetric
        self._accuracy = accuracy
        self._stored: dict[tuple[str, int], _Stored] = {}
        self._flat: dict[str, ir.Value] = {}
        self.bytes = 0
        """Of all that was quantised so far."""
        model.graph.opset_imports[DOMAIN] = 1

    def replace(self, use: Use, bits: int) -> None:
        """The node of ``use`` becomes one that reads its weight at ``bits``."""
        stored = self._store(use, bits)
        made = self._gather(use, stored, bits) if use.op == "Gather" else self._matmul(use, stored, bits)
        node = use.node
        assert node.graph is not None
        old, new = node.outputs[0], made.outputs[0]
        new.name, new.shape, new.type = old.name, old.shape, old.type
        ir.convenience.replace_nodes_and_values(node.graph, node, [node], [made], [old], [new])

    def _store(self, use: Use, bits: int) -> _Stored:
        key = (use.name, bits)
        if key not in self._stored:
            tensor = use.value.const_value
            assert tensor is not None
            matrix = tensor.numpy()
            if use.op != "Gather" and not use.transposed:
                matrix = matrix.T
            packed = blocks.by_range(matrix, bits, self._block, self._symmetric)
            self.bytes += packed.nbytes
            name = f"{use.name}_q{bits}"
            self._stored[key] = _Stored(
                self._add(name, packed.values),
                self._add(f"{name}_scales", packed.scales),
                None if packed.zeros is None else self._add(f"{name}_zeros", packed.zeros),
            )
        return self._stored[key]

    def _add(self, name: str, array: Any) -> ir.Value:  # noqa: ANN401 - numpy of any type
        tensor = ir.Tensor(np.ascontiguousarray(array), name=name)
        value = ir.Value(name=name, shape=tensor.shape, type=ir.TensorType(tensor.dtype), const_value=tensor)
        self._model.graph.register_initializer(value)
        return value

    def _matmul(self, use: Use, stored: _Stored, bits: int) -> ir.Node:
        wide, depth = use.shape if use.transposed else use.shape[::-1]
        attributes = {"K": depth, "N": wide, "bits": bits, "block_size": self._block}
        if self._accuracy:
            attributes["accuracy_level"] = self._accuracy
        inputs = [use.node.inputs[0], stored.values, stored.scales, *([stored.zeros] if stored.zeros else [])]
        return _node("MatMulNBits", use, inputs, attributes)

    def _gather(self, use: Use, stored: _Stored, bits: int) -> ir.Node:
        attributes = {"bits": bits, "block_size": self._block, "gather_axis": 0, "quantize_axis": 1}
        inputs = [self._rows(use, stored), use.node.inputs[1], stored.scales, *([stored.zeros] if stored.zeros else [])]
        return _node("GatherBlockQuantized", use, inputs, attributes)

    def _rows(self, use: Use, stored: _Stored) -> ir.Value:
        """The blocks of a row one after the other, as a look-up takes them; the bytes are those of the product."""
        name = f"{stored.values.name}_rows"
        if name not in self._flat:
            shape = self._add(f"{name}_shape", np.array([use.shape[0], -1], np.int64))
            flat = ir.Value(name=name)
            node = ir.Node("", "Reshape", [stored.values, shape], outputs=[flat], name=f"{name}_reshape")
            self._model.graph.insert_before(self._model.graph[0], node)
            self._flat[name] = flat
        return self._flat[name]


def _node(kind: str, use: Use, inputs: list[ir.Value | None], attributes: dict[str, int]) -> ir.Node:
    listed = [ir.AttrInt64(name, value) for name, value in sorted(attributes.items())]
    return ir.Node(DOMAIN, kind, inputs, listed, name=f"{use.node.name}_{kind}", num_outputs=1)
