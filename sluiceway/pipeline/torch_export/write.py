"""What torch traced, written as every other graph of ours: plain names, free axes by name, nothing of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from sluiceway.pipeline.graphs.export import INLINE_LIMIT, save

Ports = Sequence[tuple[str, tuple[str | int, ...]]]


def write(model: ir.Model, path: Path, inputs: Ports, outputs: Ports, facts: Mapping[str, str]) -> tuple[int, int]:
    """Writes ``path`` (and its data beside it), and says how many nodes and how many numbers it has."""
    rename(model, inputs, outputs)
    strip(model)
    model.metadata_props.update(facts)
    model.producer_name, model.producer_version = "sluiceway", "1"
    nodes, numbers, _ = save(model, path, INLINE_LIMIT)
    return nodes, numbers


def rename(model: ir.Model, inputs: Ports, outputs: Ports) -> None:
    """Inputs and outputs get their names and axes; a value inside that has one of those names gets another."""
    ends = [(model.graph.inputs, inputs), (model.graph.outputs, outputs)]
    mine = {id(value) for values, ports in ends for value in values}
    taken = {name for _, ports in ends for name, _ in ports}
    for value in _values(model):
        if value.name in taken and id(value) not in mine:
            value.name = f"{value.name}_inside"
    for values, ports in ends:
        for value, (name, dims) in zip(values, ports, strict=True):
            value.name = name
            value.shape = ir.Shape(list(dims))


def strip(model: ir.Model) -> None:
    """Takes out what tells the code and the folders it was traced in, and shapes in the tracer's own symbols."""
    ends = {id(value) for value in (*model.graph.inputs, *model.graph.outputs)}
    model.metadata_props.clear()
    model.doc_string = None
    model.graph.metadata_props.clear()
    model.graph.doc_string = None
    model.graph.name = "main"
    for value in _values(model):
        value.metadata_props.clear()
        value.doc_string = None
        if id(value) not in ends and value.const_value is None:
            value.shape = None
    for node in model.graph.all_nodes():
        node.metadata_props.clear()
        node.doc_string = None


def _values(model: ir.Model) -> list[Any]:
    found = [*model.graph.inputs, *model.graph.initializers.values()]
    return found + [value for node in model.graph.all_nodes() for value in node.outputs]
