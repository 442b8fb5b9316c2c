"""Reads and writes the models that passes work on: the same graph gives the same bytes."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

DATA = "model.onnx.data"
INLINE_LIMIT = 1_500_000_000
"""Bytes of weights up to which they stand in the graph's file: a protobuf takes 2 GB, and some readers less."""


def load(path: Path) -> ir.Model:
    """The model with its tensors still on disk, its nodes named, its constants among the initializers."""
    model = ir.load(path)
    common.RemoveInitializersFromInputsPass()(model)
    common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    name_nodes(model)
    return model


def name_nodes(model: ir.Model) -> None:
    """A name for each node that has none or has another's: quantisers tell nodes apart by their names."""
    taken: set[str] = set()
    for at, node in enumerate(model.graph.all_nodes()):
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}_{at}"
            while node.name in taken:
                node.name += "_"
        taken.add(node.name)


def weigh(model: ir.Model) -> int:
    """Bytes of all initializers."""
    return sum(
        value.const_value.nbytes
        for graph in model.graphs()
        for value in graph.initializers.values()
        if value.const_value is not None
    )


def sizes(model: ir.Model) -> dict[str, int]:
    """Bytes of each initializer of the main graph."""
    values = model.graph.initializers.items()
    return {name: value.const_value.nbytes for name, value in values if value.const_value is not None}


def save_beside(model: ir.Model, folder: Path, least: int) -> Path:
    """Writes ``folder``/model.onnx with the weights of ``least`` bytes or more in model.onnx.data beside it."""
    tidy(model)
    path = folder / "model.onnx"
    ir.save(model, path, external_data=DATA, size_threshold_bytes=least, max_workers=1)
    return path


def save(model: ir.Model, folder: Path) -> Path:
    """Writes ``folder``/model.onnx, with model.onnx.data beside it above `INLINE_LIMIT`."""
    tidy(model)
    path = folder / "model.onnx"
    if weigh(model) > INLINE_LIMIT:
        ir.save(model, path, external_data=DATA, max_workers=1)
        return path
    ir.external_data.load_to_model(model)
    with path.open("wb") as file:
        file.write(ir.serde.serialize_model(model).SerializeToString(deterministic=True))
        file.flush()
        os.fsync(file.fileno())
    return path


def tidy(model: ir.Model) -> None:
    """Takes out what decides nothing and differs from run to run: the order of initializers, what nobody uses."""
    common.RemoveUnusedNodesPass()(model)
    common.RemoveUnusedOpsetsPass()(model)
    for graph in model.graphs():
        kept = sorted(graph.initializers.items())
        graph.initializers.clear()
        graph.initializers.update(kept)


def size_of(path: Path) -> int:
    """Bytes of a model's graph and of the files with its external data."""
    model = onnx.load_model(str(path), load_external_data=False)
    entries = (entry for tensor in model.graph.initializer for entry in tensor.external_data)
    named: set[str] = {entry.value for entry in entries if entry.key == "location"}
    data = sum((path.parent / name).stat().st_size for name in named)
    return path.stat().st_size + data
