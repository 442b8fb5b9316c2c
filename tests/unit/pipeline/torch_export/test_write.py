"""A traced graph as it is written: names and free axes of ours, and nothing that tells where it was traced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime  # type: ignore[import-untyped]

from sluiceway.pipeline.torch_export.write import write


def traced() -> ir.Model:
    """y = x + w in a tracer's way: symbols of its own, places in metadata, an inner value of an output's later name."""
    given = ir.val("x", ir.DataType.FLOAT, ["s10", "s70"])
    weight = ir.val("w", const_value=ir.tensor(np.ones(4, np.float32), name="w"))
    inner = ir.node("Identity", [given])
    inner.outputs[0].name, inner.outputs[0].dtype = "logits", ir.DataType.FLOAT
    inner.outputs[0].shape = ir.Shape(["s10", "s70"])
    last = ir.node("Add", [inner.outputs[0], weight])
    last.outputs[0].name, last.outputs[0].dtype = "y", ir.DataType.FLOAT
    last.outputs[0].shape = ir.Shape(["s10", "s70"])
    for node in (inner, last):
        node.metadata_props["pkg.torch.onnx.stack_trace"] = 'File "/home/somebody/model.py", line 3'
    graph = ir.Graph(
        [given],
        [last.outputs[0]],
        nodes=[inner, last],
        initializers=[weight],
        opset_imports={"": 21},
        name="main_graph",
    )
    return ir.Model(graph, ir_version=10, producer_name="pytorch", producer_version="2.15.0+cu132")


def written(folder: Path) -> onnx.ModelProto:
    folder.mkdir()
    ports = [("input", ("batch", 4))], [("logits", ("batch", 4))]
    assert write(traced(), folder / "model.onnx", *ports, {"labels": "[]"}) == (2, 4)
    return onnx.load(folder / "model.onnx")


def test_inputs_and_outputs_get_their_names_and_free_axes(tmp_path: Path) -> None:
    graph = written(tmp_path / "one").graph
    axes = [dim.dim_param or dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim]
    assert ([value.name for value in graph.input], axes) == (["input"], ["batch", 4])
    assert [value.name for value in graph.output] == ["logits"]


def test_an_inner_value_of_an_outputs_name_gets_another_and_the_graph_runs(tmp_path: Path) -> None:
    graph = written(tmp_path / "one").graph
    assert [node.output[0] for node in graph.node] == ["logits_inside", "logits"]
    session = onnxruntime.InferenceSession(str(tmp_path / "one" / "model.onnx"), providers=["CPUExecutionProvider"])
    assert session.run(None, {"input": np.zeros((2, 4), np.float32)})[0].tolist() == [[1.0] * 4] * 2


def test_nothing_tells_where_it_was_traced_and_the_same_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    written(tmp_path / "one")
    model = written(tmp_path / "two")
    one, two = ((tmp_path / name / "model.onnx").read_bytes() for name in ("one", "two"))
    assert one == two
    assert b"somebody" not in one
    assert b"s70" not in one
    assert [(prop.key, prop.value) for prop in model.metadata_props] == [("labels", "[]")]
