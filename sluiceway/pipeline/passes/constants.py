"""Finds what a graph computes from constants alone, computes it, and puts the values in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime  # type: ignore[import-untyped]
from onnx_ir.passes import common

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.passes import run, store, weights
from sluiceway.pipeline.passes.settings import Fold
from sluiceway.pipeline.types import Model, PassReport

GROWTH = 64 * 1024
"""Bytes that a folded value may have over those that it is computed from."""
# Random by nature, or what a quantised weight is read through.
_NEVER = {
    "Bernoulli",
    "DequantizeLinear",
    "Multinomial",
    "QuantizeLinear",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}


def fold(source: Model, out: Path, settings: Fold) -> PassReport:
    """Folds ``source`` into ``out``; a Transpose of a table that others use too only where the settings say own."""
    with run.aside(out) as folder, run.named("fold"):
        model = store.load(source.path)
        nodes = len(model.graph)
        before = len(set(weights.float_names(model)))
        common.IdentityEliminationPass()(model)
        made, copied = _replace(model, settings.tied == "shared")
        common.DeduplicateInitializersPass()(model)
        common.ClearMetadataAndDocStringPass()(model)
        common.TopologicalSortPass()(model)
        store.save(model, folder)
        made_model = Model(folder / "model.onnx")
        run.check(made_model)
        sizes = store.size_of(source.path), store.size_of(made_model.path)
        run.move(folder, out)
    notes = [f"{nodes} -> {len(model.graph)} nodes", f"{made} values computed"]
    if copied:
        notes.append(f"{copied} bytes more: a weight that others use too became one of its own")
    return PassReport("fold", before, made, made, *sizes, tuple(notes))


def _replace(model: ir.Model, keep_shared: bool) -> tuple[int, int]:
    """How many values were put in place of nodes, and how many bytes of them are copies of a weight still in use."""
    constant = _constant_nodes(model)
    if keep_shared:
        constant = [node for node in constant if not _copies_shared(node)]
    inside = {id(node) for node in constant}
    edge = [value for node in constant for value in node.outputs if _leaves(value, inside)]
    copied = 0
    made = 0
    for value, array in zip(edge, _compute(model, constant, edge), strict=True):
        roots = _roots(value)
        allowed = sum(root.const_value.nbytes for root in roots if root.const_value is not None) + GROWTH
        if value.is_graph_output() or array.nbytes > allowed:
            continue
        _put(model, value, array, f"{roots[0].name}_folded_{made}" if roots else f"folded_{made}")
        made += 1
        still_used = any(_leaves(root, inside) for root in roots)
        copied += array.nbytes if still_used and array.ndim >= 2 else 0
    common.RemoveUnusedNodesPass()(model)
    return made, copied


def _constant_nodes(model: ir.Model) -> list[ir.Node]:
    """Nodes of the main graph that depend on initializers alone, in order."""
    known: set[int] = {id(value) for value in model.graph.initializers.values()}
    found = []
    for node in model.graph:
        plain = node.domain in ("", "ai.onnx") and node.op_type not in _NEVER
        kinds = {attribute.type for attribute in node.attributes.values()}
        plain = plain and not kinds & {ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS}
        if plain and node.inputs and all(value is None or id(value) in known for value in node.inputs):
            found.append(node)
            known |= {id(value) for value in node.outputs}
    return found


def _copies_shared(node: ir.Node) -> bool:
    """Whether it only turns a weight round that another node reads as it is."""
    value = node.inputs[0]
    return node.op_type == "Transpose" and value is not None and any(use.node is not node for use in value.uses())


def _leaves(value: ir.Value, inside: set[int]) -> bool:
    return value.is_graph_output() or any(id(use.node) not in inside for use in value.uses())


def _roots(value: ir.Value) -> list[ir.Value]:
    """The initializers that a value is computed from."""
    node = value.producer()
    if node is None:
        return [value]
    found = {id(root): root for each in node.inputs if each is not None for root in _roots(each)}
    return list(found.values())


def _compute(model: ir.Model, nodes: list[ir.Node], wanted: list[ir.Value]) -> list[Any]:
    """The values by onnxruntime itself, so that a folded graph says what the unfolded one says."""
    if not wanted:
        return []
    roots = {id(root): root for value in wanted for root in _roots(value)}
    inputs = [ir.Value(name=f"in_{at}", shape=root.shape, type=root.type) for at, root in enumerate(roots.values())]
    mapped: dict[int, ir.Value] = dict(zip(roots, inputs, strict=True))
    copies = []
    for at, node in enumerate(nodes):
        if not all(value is None or id(value) in mapped for value in node.inputs):
            continue
        given = [None if value is None else mapped[id(value)] for value in node.inputs]
        outputs = [ir.Value(name=f"out_{at}_{place}", type=value.type) for place, value in enumerate(node.outputs)]
        copies.append(ir.Node(node.domain, node.op_type, given, list(node.attributes.values()), outputs=outputs))
        mapped |= {id(value): copy for value, copy in zip(node.outputs, outputs, strict=True)}
    graph = ir.Graph(
        inputs, [mapped[id(value)] for value in wanted], nodes=copies, opset_imports=dict(model.graph.opset_imports)
    )
    return _run(ir.Model(graph, ir_version=model.ir_version), inputs, list(roots.values()))


def _run(model: ir.Model, inputs: list[ir.Value], roots: list[ir.Value]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    proto = ir.serde.serialize_model(model)
    try:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        arrays = [root.const_value.numpy() for root in roots if root.const_value is not None]
        found: list[Any] = session.run(None, {value.name: array for value, array in zip(inputs, arrays, strict=True)})
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise SluicewayError("constants of this graph can't be computed", got=text) from error
    return found


def _put(model: ir.Model, value: ir.Value, array: Any, name: str) -> None:  # noqa: ANN401 - numpy of any type
    tensor = ir.Tensor(np.ascontiguousarray(array), name=name)
    new = ir.Value(name=name, shape=tensor.shape, type=ir.TensorType(tensor.dtype), const_value=tensor)
    model.graph.register_initializer(new)
    ir.convenience.replace_all_uses_with(value, new)
