"""Ten broken models, and what else a model may hide: each is one clear error before a library opens it."""

from __future__ import annotations

import os
import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import Limits, check_model, check_shapes
from sluiceway.pipeline.types import Model
from tests.unit.pipeline import tiny

LIMITS = Limits(runtimes={"onnxruntime": "1.32.0", "onnxruntime_web": "1.30.0"}, max_bytes=10**6)


def bad_opset(folder: Path) -> Model:
    return tiny.save(folder, tiny.encoder_proto(opset=29))


def missing_data(folder: Path) -> Model:
    model = tiny.encoder(folder, data="weights_7f.bin")
    (folder / "weights_7f.bin").unlink()
    return model


def path_traversal(folder: Path) -> Model:
    model = tiny.encoder(folder, data="data")
    (folder / "data").rename(folder.parent / "x.bin")
    return relocated(model, "../x.bin")


def a_pickle(folder: Path) -> Model:
    model = tiny.encoder(folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weights": [1.0]}))
    return model


def nan_weights(folder: Path) -> Model:
    return tiny.save(folder, spoilt(tiny.encoder_proto(), "down_1", float("nan")))


def truncated(folder: Path) -> Model:
    model = tiny.encoder(folder)
    model.path.write_bytes(model.path.read_bytes()[:-40_000])
    return model


def wrong_tokenizer(folder: Path) -> Model:
    tiny.tokenizer(folder, size=100)
    return tiny.encoder(folder, vocabulary=96)


def frozen_axis(folder: Path) -> Model:
    proto = tiny.encoder_proto()
    for value in proto.graph.input:
        value.type.tensor_type.shape.dim[0].dim_value = 1
    return tiny.save(folder, proto)


def too_large(folder: Path) -> Model:
    return tiny.encoder(folder, vocabulary=5000)


def zip_bomb(folder: Path) -> Model:
    model = tiny.encoder(folder)
    with zipfile.ZipFile(folder / "extra.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(32 * 2**20))
    return model


def relocated(model: Model, location: str) -> Model:
    proto = onnx.load_model(str(model.path), load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    model.path.write_bytes(proto.SerializeToString())
    return model


def spoilt(proto: onnx.ModelProto, name: str, value: float) -> onnx.ModelProto:
    for tensor in proto.graph.initializer:
        if tensor.name == name:
            values = numpy_helper.to_array(tensor).copy()
            values[3, 4] = value
            tensor.CopyFrom(numpy_helper.from_array(values, name))
    return proto


BROKEN: list[tuple[Callable[[Path], Model], str]] = [
    (bad_opset, "opset 29, and onnxruntime 1.32.0 takes up to 28"),
    (missing_data, "external data is missing"),
    (path_traversal, "outside the model's folder"),
    (a_pickle, "this is a pickle"),
    (nan_weights, "a weight is NaN, got '1 of 8192 values'"),
    (truncated, "the file is cut off"),
    (wrong_tokenizer, "ids up to 99, and the model's table has 96 rows"),
    (frozen_axis, "batch axis (0) is frozen at a number, got 1"),
    (too_large, "too large for its target, which takes 1000000 bytes"),
    (zip_bomb, "unpacks to more than 100 times its size"),
]


@pytest.mark.parametrize(("broken", "said"), BROKEN, ids=[make.__name__ for make, _ in BROKEN])
def test_a_broken_model_is_one_clear_error_and_nothing_is_written(
    broken: Callable[[Path], Model], said: str, tmp_path: Path
) -> None:
    model = broken(tmp_path / "model")
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    with pytest.raises(UserError) as refused:
        check_model(model, LIMITS)
    assert said in str(refused.value)
    assert refused.value.hint and refused.value.path and "\n" not in str(refused.value)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == {
        path: found.st_mtime_ns for path, found in before.items()
    }


def test_a_sound_model_passes_with_its_facts(tmp_path: Path) -> None:
    tiny.tokenizer(tmp_path)
    facts = check_model(tiny.encoder(tmp_path, data="weights_7f.bin"), LIMITS)
    assert (facts.ir, facts.opset, facts.data_files, facts.table_rows) == (8, 17, ("weights_7f.bin",), 96)
    assert (facts.tensors, facts.elements) == (5, 96 * 64 + 4 * 64 * 128)
    assert facts.total_bytes == sum(path.stat().st_size for path in tmp_path.iterdir() if path.suffix != ".json")


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("../x.bin", "outside"),
        ("sub/../../x.bin", "outside"),
        ("/etc/passwd", "absolute"),
        ("C:/x.bin", "absolute"),
        ("sub\\x.bin", "backslash"),
        ("*/_ORT_MEM_ADDR_/*", "address in memory"),
        ("./data", "shortest form"),
        ("", "without the name"),
    ],
)
def test_ox_02_external_data_may_only_lie_beside_the_model(location: str, said: str, tmp_path: Path) -> None:
    model = relocated(tiny.encoder(tmp_path, data="data"), location)
    with pytest.raises(UserError, match=said):
        check_model(model, LIMITS)


def test_ox_02_data_files_of_any_name_and_number_are_found_in_the_model(tmp_path: Path) -> None:
    proto = tiny.encoder_proto()
    path = tmp_path / "model.onnx"
    onnx.save_model(
        proto,
        str(path),
        save_as_external_data=True,
        all_tensors_to_one_file=False,
        size_threshold=64,
    )
    facts = check_model(Model(tmp_path / "model.onnx"), LIMITS)
    assert facts.data_files == ("down_0", "down_1", "table", "up_0", "up_1")


def test_a_symbolic_link_as_data_is_refused(tmp_path: Path) -> None:
    model = tiny.encoder(tmp_path / "model", data="data")
    (tmp_path / "model" / "data").rename(tmp_path / "outside")
    (tmp_path / "model" / "data").symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="symbolic link"):
        check_model(model, LIMITS)


def test_a_hard_link_as_data_is_refused(tmp_path: Path) -> None:
    model = tiny.encoder(tmp_path / "model", data="data")
    os.link(tmp_path / "model" / "data", tmp_path / "outside")
    with pytest.raises(UserError, match="hard link"):
        check_model(model, LIMITS)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("offset", "999999", "beyond the end"),
        ("offset", "-1", "no whole number"),
        ("length", str(2**40), "beyond the end"),
        ("length", "16", "another length"),
    ],
)
def test_a_range_of_data_that_is_not_in_the_file_is_refused(key: str, value: str, said: str, tmp_path: Path) -> None:
    model = tiny.encoder(tmp_path, data="data")
    proto = onnx.load_model(str(model.path), load_external_data=False)
    entries = proto.graph.initializer[0].external_data
    next(entry for entry in entries if entry.key == key).value = value
    model.path.write_bytes(proto.SerializeToString())
    with pytest.raises(UserError, match=said):
        check_model(model, LIMITS)


def test_nan_in_external_data_is_found(tmp_path: Path) -> None:
    model = tiny.save(tmp_path, spoilt(tiny.encoder_proto(), "table", float("nan")), data="data")
    with pytest.raises(UserError, match="a weight is NaN"):
        check_model(model, LIMITS)


def test_infinity_is_refused_in_a_weight_and_taken_in_a_mask(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a weight is infinite"):
        check_model(tiny.save(tmp_path / "a", spoilt(tiny.encoder_proto(), "up_0", float("inf"))), LIMITS)
    proto = tiny.encoder_proto()
    proto.graph.initializer.append(numpy_helper.from_array(np.full(3, -np.inf, np.float32), "mask_of_old"))
    check_model(tiny.save(tmp_path / "b", proto), LIMITS)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("model.pt", b"anything", "named .pt"),
        ("model.H5", b"anything", "named .h5"),
        ("notes.txt", pickle.dumps([1], protocol=4), "a pickle"),
        ("notes.txt", pickle.dumps([1], protocol=2), "a pickle"),
        ("notes.txt", b"cos\nsystem\n(S'true'\ntR.", "a pickle"),
        ("notes.txt", b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5"),
        ("vectors.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "objects"),
        ("sub/old.tar", bytes(257) + b"ustar" + bytes(250), "archive"),
    ],
)
def test_what_runs_code_or_hides_files_may_not_lie_beside_a_model(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    model = tiny.encoder(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=said):
        check_model(model, LIMITS)


def test_a_pickle_named_model_onnx_or_as_its_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(pickle.dumps([1]))
    with pytest.raises(UserError, match="a pickle"):
        check_model(Model(tmp_path / "model.onnx"), LIMITS)
    model = tiny.encoder(tmp_path / "b", data="data")
    size = (tmp_path / "b" / "data").stat().st_size
    (tmp_path / "b" / "data").write_bytes(pickle.dumps(bytes(size)))
    with pytest.raises(UserError, match="a pickle"):
        check_model(model, LIMITS)


def test_ox_07_an_ir_version_that_a_target_does_not_know_names_both(tmp_path: Path) -> None:
    proto = tiny.encoder_proto()
    proto.ir_version = 15
    with pytest.raises(UserError, match=r"IR version 15, and onnxruntime 1\.32\.0 takes up to 14"):
        check_model(tiny.save(tmp_path, proto), LIMITS)


def test_ox_07_the_oldest_target_decides_and_not_what_is_installed(tmp_path: Path) -> None:
    model = tiny.save(tmp_path, tiny.encoder_proto(opset=27, ir=13))
    check_model(model, Limits(runtimes={"onnxruntime": "1.32.0"}))
    with pytest.raises(UserError, match=r"opset 27, and onnxruntime-web 1\.30\.0 takes up to 26"):
        check_model(model, LIMITS)


def test_a_graph_over_the_limit_of_a_protobuf_is_told_where_its_weights_belong(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="larger than the 1000 bytes") as refused:
        check_model(tiny.encoder(tmp_path), Limits(max_graph_bytes=1000))
    assert "external data" in (refused.value.hint or "")


@pytest.mark.parametrize("kept", [0, 100, 100_000, 156_600])
def test_a_model_cut_off_anywhere_is_refused(kept: int, tmp_path: Path) -> None:
    model = tiny.encoder(tmp_path)
    model.path.write_bytes(model.path.read_bytes()[:kept])
    with pytest.raises(UserError, match="cut off"):
        check_model(model, LIMITS)


def test_every_cut_at_the_end_is_refused(tmp_path: Path) -> None:
    model = tiny.classifier(tmp_path)
    whole = model.path.read_bytes()
    for kept in range(len(whole)):
        model.path.write_bytes(whole[:kept])
        with pytest.raises(UserError):
            check_model(model, LIMITS)


@pytest.mark.parametrize("data", [None, "data"])
def test_a_model_changed_anywhere_passes_or_is_refused_and_never_breaks_the_check(
    data: str | None, tmp_path: Path
) -> None:
    model = tiny.save(tmp_path, tiny.encoder_proto(vocabulary=8, hidden=4), data)
    whole = model.path.read_bytes()
    refused = 0
    for seed in range(400):
        chance = random.Random(seed)
        changed = bytearray(whole)
        at = chance.randrange(len(changed))
        changed[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        model.path.write_bytes(changed)
        try:
            check_model(model, LIMITS)
        except UserError:
            refused += 1
    assert 100 < refused < 400


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    model = relocated(tiny.encoder(tmp_path, data="data"), "da@a")
    model.path.write_bytes(model.path.read_bytes().replace(b"da@a", b"da\xffa"))
    with pytest.raises(UserError, match="named in no text"):
        check_model(model, LIMITS)


def test_a_tensor_with_fewer_bytes_than_it_says_is_refused(tmp_path: Path) -> None:
    proto = tiny.encoder_proto()
    proto.graph.initializer[1].raw_data = proto.graph.initializer[1].raw_data[:-4]
    with pytest.raises(UserError, match="another length"):
        check_model(tiny.save(tmp_path, proto), LIMITS)


def test_ox_01_a_length_that_is_a_number_in_the_file_is_refused(tmp_path: Path) -> None:
    proto = tiny.decoder_proto()
    proto.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 16
    with pytest.raises(UserError, match=r"length axis \(1\) is frozen at a number, got 16"):
        check_model(tiny.save(tmp_path, proto), LIMITS)


def test_ox_01_a_length_baked_into_the_graph_is_found_by_running(tmp_path: Path) -> None:
    proto = tiny.decoder_proto()
    for tensor in proto.graph.initializer:
        if tensor.name == "merge_1":
            tensor.CopyFrom(numpy_helper.from_array(np.array([-1, 7, 64]), "merge_1"))
    model = tiny.save(tmp_path, proto)
    check_model(model, LIMITS)
    check_shapes(model, [(1, 7)])
    with pytest.raises(UserError, match="at batch 2 and length 5"):
        check_shapes(model, [(1, 7), (2, 5)])


def test_ox_01_sound_models_run_at_the_usual_sizes(tmp_path: Path) -> None:
    for make in (tiny.encoder, tiny.decoder, tiny.classifier):
        check_shapes(make(tmp_path / make.__name__), [(1, 1), (1, 7), (2, 5), (3, 16)])


def test_ox_01_an_output_that_does_not_follow_the_batch_is_refused(tmp_path: Path) -> None:
    g = tiny.Graph()
    g.op("ReduceMean", g.op("MatMul", "features", g.weight("w", 8, 4)), axes=[0], keepdims=1, out="scores")
    inputs = [("features", TensorProto.FLOAT, ["batch", 8])]
    model = tiny.save(tmp_path, g.model(inputs, [("scores", TensorProto.FLOAT, ["batch", 4])]))
    with pytest.raises(UserError, match="output scores has 1 along axis 0, and the input asks for 2"):
        check_shapes(model, [(1, 1), (2, 1)])


def test_ox_09_an_output_of_nan_is_refused(tmp_path: Path) -> None:
    g = tiny.Graph()
    g.op(
        "Sqrt",
        g.op(
            "Sub",
            g.constant("zero", np.float32(0)),
            g.op("Abs", g.op("Add", "features", g.constant("one", np.float32(1)))),
        ),
        out="scores",
    )
    shape = ["batch", 8]
    model = tiny.save(
        tmp_path, g.model([("features", TensorProto.FLOAT, shape)], [("scores", TensorProto.FLOAT, shape)])
    )
    with pytest.raises(UserError, match="output scores is NaN or infinite, got '8 of 8 values'"):
        check_shapes(model, [(1, 1)])


def test_ox_03_a_file_that_no_session_opens_names_the_node(tmp_path: Path) -> None:
    proto = tiny.encoder_proto()
    next(node for node in proto.graph.node if node.op_type == "Relu").op_type = "Sharpen"
    proto.graph.node[2].domain = "com.example"
    proto.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    with pytest.raises(UserError, match="Sharpen"):
        check_shapes(tiny.save(tmp_path, proto), [(1, 1)])
