"""After each pass the file is opened and run; what does not load never leaves the pass. And the bytes are the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.checks import Limits, check_model, check_shapes
from sluiceway.pipeline.passes import run
from sluiceway.pipeline.types import Model
from tests.unit.pipeline import tiny
from tests.unit.pipeline.passes.apply import apply, ops


def cast_graph(folder: Path) -> Model:
    """int64 -> Cast to float -> MatMul."""
    g = tiny.Graph()
    g.op("MatMul", g.op("Cast", "counts", to=TensorProto.FLOAT), g.weight("w", 64, 32), out="scores")
    proto = g.model([("counts", TensorProto.INT64, ["batch", "length"])], [("scores", 1, ["batch", 32])])
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "width"
    return tiny.save(folder, proto)


def conv_graph(folder: Path) -> Model:
    g = tiny.Graph()
    g.op("Conv", "image", g.weight("w", 4, 3, 3, 3), out="planes", pads=[1, 1, 1, 1])
    shape = ["batch", 3, "height", "width"]
    return tiny.save(folder, g.model([("image", 1, shape)], [("planes", 1, ["batch", 4, "height", "width"])]))


def half_graph(folder: Path) -> Model:
    proto = helper.make_model(
        helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"], name="only")],
            "half",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT16, ["batch", 64])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT16, ["batch", 32])],
            [numpy_helper.from_array(np.ones((64, 32), np.float16), "w")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    return tiny.save(folder, proto)


def test_ox_03_a_graph_with_a_cast_to_float_loads_at_float16(tmp_path: Path) -> None:
    g = tiny.Graph()
    table = g.op("Gather", g.weight("table", 96, 64), "input_ids")
    kept = g.op("Mul", table, g.op("Unsqueeze", g.op("Cast", "attention_mask", to=1), g.constant("last", [2])))
    g.op("MatMul", kept, g.weight("w", 64, 32), out="states")
    source = tiny.save(tmp_path / "s", g.model(tiny.tokens(), [("states", 1, ["batch", "length", 32])]))
    made, report = apply("fp16", source, tmp_path / "out")
    check_model(made, Limits(runtimes={"onnxruntime": "1.32.0"}))
    check_shapes(made, [(1, 1), (2, 5)])
    assert report.weights_changed == 2


def test_ox_03_a_convolution_at_8_bits_loads(tmp_path: Path) -> None:
    made, _ = apply("int8-dynamic", conv_graph(tmp_path / "source"), tmp_path / "out", ops=["Conv"])
    assert "ConvInteger" in ops(made)


@pytest.mark.parametrize("kind", ["int8-dynamic", "int8-weights", "int4-weights"])
def test_ox_03_weights_of_float16_are_refused_before_8_or_4_bits(kind: str, tmp_path: Path) -> None:
    source = half_graph(tmp_path / "source")
    with pytest.raises(UserError, match=f"{kind}: w: a weight is not float32, got 'FLOAT16'"):
        apply(kind, source, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_ox_03_a_result_that_does_not_load_names_pass_and_node_and_leaves_nothing(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")

    def work(folder: Path) -> run.Asked:
        proto = tiny.encoder_proto()
        add = next(node for node in proto.graph.node if node.op_type == "Add")
        proto.graph.initializer.append(numpy_helper.from_array(np.ones(64, np.float16), "half"))
        add.input[1] = "half"
        tiny.save(folder, proto)
        return run.Asked({"w": 1}, {"w": 1}, 1)

    (tmp_path / "out").mkdir()
    with pytest.raises(UserError) as refused:
        run.execute("int8-dynamic", source, tmp_path / "out", work)
    assert (refused.value.path or "").startswith("int8-dynamic: ")
    assert "node_Add_4" in str(refused.value)
    assert list((tmp_path / "out").iterdir()) == []


def test_what_a_library_raises_is_told_as_a_failure_of_the_pass(tmp_path: Path) -> None:
    def work(folder: Path) -> run.Asked:
        raise RuntimeError(f"{folder.name}\n  cannot do this")

    with pytest.raises(SluicewayError, match=r"int4-weights: the pass failed, got '\.unfinished cannot do this'"):
        run.execute("int4-weights", tiny.encoder(tmp_path / "source"), tmp_path / "out", work)
    assert not (tmp_path / "out").exists()


def test_a_leftover_of_a_killed_run_is_made_anew(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    (tmp_path / "out" / ".unfinished").mkdir(parents=True)
    (tmp_path / "out" / ".unfinished" / "model.onnx").write_bytes(b"half")
    made, _ = apply("int8-weights", source, tmp_path / "out")
    assert [path.name for path in made.folder.iterdir()] == ["model.onnx"]


def test_a_weight_too_large_for_float16_is_refused(tmp_path: Path) -> None:
    proto = tiny.encoder_proto()
    values = numpy_helper.to_array(proto.graph.initializer[0]).copy()
    values[5, 6] = 1e5
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(values, "table"))
    with pytest.raises(UserError, match=r"fp16: table: a weight is too large for float16, got 100000\.0"):
        apply("fp16", tiny.save(tmp_path / "source", proto), tmp_path / "out")


def test_ox_07_no_pass_raises_opset_or_ir(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    for kind in ("fold", "fp16", "int8-dynamic", "int8-weights", "int4-weights"):
        made = onnx.load_model(str(apply(kind, source, tmp_path / kind)[0].path))
        assert made.ir_version == 8, kind
        assert {entry.version for entry in made.opset_import if entry.domain == ""} == {17}, kind


PROGRAM = """
import hashlib, json, sys
from pathlib import Path
from sluiceway.pipeline.passes import PASSES
from sluiceway.pipeline.types import Model
source, out = Model(Path(sys.argv[1])), Path(sys.argv[2])
for kind in json.loads(sys.argv[3]):
    settings = {"calibration": str(source.folder / "rows.jsonl")} if kind == "int8-static" else {}
    (out / kind).mkdir(parents=True)
    PASSES[kind](settings).run(source, out / kind)
    print(kind, hashlib.sha256((out / kind / "model.onnx").read_bytes()).hexdigest())
"""


def test_the_same_model_and_settings_give_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    source = apply("fold", tiny.decoder(tmp_path / "first"), tmp_path / "source")[0]
    tiny.tokenizer(source.folder, 256)
    (source.folder / "rows.jsonl").write_text('{"text": "word3 word5 word8"}\n{"text": "word9"}\n', "utf-8")
    kinds = ["fold", "fp16", "int8-dynamic", "int8-static", "int8-weights", "int4-weights"]
    here = []
    for kind in kinds:
        settings = {"calibration": str(source.folder / "rows.jsonl")} if kind == "int8-static" else {}
        made, _ = apply(kind, source, tmp_path / "here" / kind, **settings)
        here.append(f"{kind} {hashlib.sha256(made.path.read_bytes()).hexdigest()}")
    listed = "[" + ", ".join(f'"{kind}"' for kind in kinds) + "]"
    command = [sys.executable, "-c", PROGRAM, str(source.path), str(tmp_path / "there"), listed]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": "4711"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == here


def test_importing_the_passes_and_checks_loads_no_heavy_library() -> None:
    program = "import sys, sluiceway.pipeline.passes, sluiceway.pipeline.checks as c; print([*sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = ("'onnx'", "'onnxruntime'", "'numpy'", "'onnx_ir'", "'tokenizers'")
    assert [name for name in heavy if name in done.stdout] == []


@pytest.mark.parametrize("kind", ["fold", "fp16", "int8-dynamic", "int8-weights", "int4-weights"])
def test_ox_01_a_decoder_with_a_cache_runs_after_every_pass(kind: str, tmp_path: Path) -> None:
    from sluiceway.pipeline.graphs import export
    from tests.unit.pipeline.graphs import tiny as checkpoints

    random = np.random.default_rng(1)
    source = checkpoints.write(tmp_path / "c", checkpoints.llama_config(), checkpoints.llama_tensors(random))
    (tmp_path / "onnx").mkdir()
    export.export(source, tmp_path / "onnx", export.ExportSettings("causal-lm"))
    model = apply("fold", Model(tmp_path / "onnx" / "model.onnx"), tmp_path / "folded")[0]
    facts = check_model(model, Limits(runtimes={"onnxruntime_web": "1.30.0"}))
    assert facts.inputs[3].dims == ("batch", 2, "past", 4)
    settings = {"block": 16, "embedding": "fp32"} if "weights" in kind else {}
    made, _ = apply(kind, model, tmp_path / "out", **settings)
    check_shapes(made, [(1, 1), (1, 7), (2, 5), (3, 16)])
