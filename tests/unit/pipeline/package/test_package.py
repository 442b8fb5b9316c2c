"""What a package holds, that it holds all of it, and that the same model gives the same bytes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from sluiceway.errors import UserError
from sluiceway.pipeline.package import Package, package, read_manifest, verify
from sluiceway.pipeline.types import Model
from tests.unit.pipeline import tiny
from tests.unit.pipeline.package import samples
from tests.unit.pipeline.package.samples import META


def made(tmp_path: Path, layout: str = "tokenizer.json") -> Model:
    model = tiny.encoder(tmp_path / "model", vocabulary=10)
    for path in model.folder.glob("token*"):
        path.unlink()
    samples.LAYOUTS[layout](model.folder)
    return model


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_package_says_what_it_is_and_how_it_was_made(tmp_path: Path) -> None:
    model = made(tmp_path)
    (model.folder / "LICENSE").write_text("Apache-2.0")
    built = package(model, META, tmp_path / "out")
    manifest = read_manifest(built.folder / "model.json")
    assert manifest == built.manifest
    assert [(file.name, file.role) for file in manifest.files] == [
        ("LICENSE", "licence"),
        ("model.onnx", "graph"),
        ("sbom.cdx.json", "sbom"),
        ("tokenizer.json", "tokenizer"),
    ]
    assert (manifest.graph.ir, manifest.graph.opsets) == (8, {"": 17})
    assert {port.name: port.dims for port in manifest.graph.inputs}["input_ids"] == ("batch", "length")
    assert manifest.lineage.passes == ({"kind": "fold", "weights_changed": 0},)
    assert (manifest.metrics, manifest.licence) == ({"min_cosine": 0.99, "held": True}, "Apache-2.0")
    assert list(tmp_path.glob(".out*")) == []


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    model = made(tmp_path)
    first = package(model, META, tmp_path / "a")
    (tmp_path / "elsewhere").mkdir()
    moved = Model(shutil.copytree(model.folder, tmp_path / "elsewhere" / "m") / "model.onnx")
    second = package(moved, META, tmp_path / "elsewhere" / "b")
    assert tree(first.folder) == tree(second.folder)
    assert first.digest == second.digest
    assert package(model, replace(META, licence="MIT"), tmp_path / "c").digest != first.digest


def test_weights_in_other_forms_code_and_hidden_files_stay_behind(tmp_path: Path) -> None:
    model = made(tmp_path)
    for name in ("model.safetensors", "modeling.py", ".gitattributes", "config.json"):
        (model.folder / name).write_text("{}")
    names = set(tree(package(model, replace(META, sbom=False), tmp_path / "out").folder))
    assert names == {"config.json", "model.json", "model.onnx", "tokenizer.json"}


def external(folder: Path, locations: list[str]) -> Model:
    """A classifier whose weights lie at ``locations``, a tensor each."""
    folder.mkdir()
    nodes, weights, before = [], [], "x"
    for at, location in enumerate(locations):
        values = np.full((4, 4), at + 1, dtype=np.float32)
        tensor = numpy_helper.from_array(values, f"w{at}")
        set_external_data(tensor, location, 0, values.nbytes)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        (folder / location).parent.mkdir(parents=True, exist_ok=True)
        (folder / location).write_bytes(values.tobytes())
        weights.append(tensor)
        nodes.append(helper.make_node("MatMul", [before, f"w{at}"], [f"y{at}"]))
        before = f"y{at}"
    floats = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", floats, ["batch", 4])],
        [helper.make_tensor_value_info(before, floats, ["batch", 4])],
        weights,
    )
    document = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "model.onnx").write_bytes(document.SerializeToString())
    return Model(folder / "model.onnx")


CLASSIFY = replace(META, task="classify", batches=((1, 1), (3, 4)))


@pytest.mark.parametrize(
    "locations",
    [["weights_7f.bin"], ["w/a.bin", "w/b.bin", "w/deep/c"], ["model.onnx_data", "other.data"]],
    ids=["an odd name", "a file a tensor", "two names"],
)
def test_ox_02_external_data_goes_along_whatever_it_is_called(tmp_path: Path, locations: list[str]) -> None:
    built = package(external(tmp_path / "model", locations), CLASSIFY, tmp_path / "out")
    assert {file.name for file in built.manifest.files if file.role == "weights"} == set(locations)
    shutil.rmtree(tmp_path / "model")
    unpacked = tmp_path / "unpacked elsewhere"
    shutil.move(built.folder, unpacked)
    assert verify(unpacked) == built.manifest
    import onnxruntime  # type: ignore[import-untyped]

    session = onnxruntime.InferenceSession(str(unpacked / "model.onnx"))
    assert session.run(None, {"x": np.ones((1, 4), np.float32)})[0].shape == (1, 4)


def test_ox_02_data_outside_of_the_folder_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="outside the model's folder"):
        package(external(tmp_path / "model", ["../x.bin"]), CLASSIFY, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "x.bin"]


def test_ox_02_lost_data_is_named(tmp_path: Path) -> None:
    model = external(tmp_path / "model", ["weights_7f.bin"])
    (model.folder / "weights_7f.bin").unlink()
    with pytest.raises(UserError, match=r"weights_7f\.bin: the model's external data is missing"):
        package(model, CLASSIFY, tmp_path / "out")


@pytest.mark.parametrize(
    ("ir", "opset", "said"),
    [
        (15, 17, "IR version 15, and onnxruntime 1.30.0 takes up to"),
        (8, 29, "opset 29, and onnxruntime 1.30.0 takes up"),
    ],
)
def test_ox_07_a_model_newer_than_its_oldest_runtime_is_refused(tmp_path: Path, ir: int, opset: int, said: str) -> None:
    model = made(tmp_path)
    document = onnx.load(str(model.path))
    document.ir_version = ir
    document.opset_import[0].version = opset
    model.path.write_bytes(document.SerializeToString())
    with pytest.raises(UserError, match=said):
        package(model, META, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("layout", list(samples.LAYOUTS))
def test_ox_08_every_layout_of_tokenizer_is_packaged_and_loads_alike(tmp_path: Path, layout: str) -> None:
    model = made(tmp_path, layout)
    built = package(model, samples.CHAT, tmp_path / "out")
    manifest = built.manifest
    assert manifest.tokenizer is not None
    assert set(tree(model.folder)) <= set(tree(built.folder))
    assert len(manifest.tokenizer.ids) >= 3
    assert (manifest.chat is not None) == (layout == "chat_template.jinja")
    assert manifest.notes == (() if manifest.chat else ("the source has no chat template",))
    needed = {"vocab.json": "merges.txt"}.get(layout, layout)
    (built.folder / needed).unlink()
    with pytest.raises(UserError, match=rf"{needed}: a file that model.json lists is missing"):
        verify(built.folder)


def test_ox_08_a_tokenizer_that_is_not_whole_names_what_lacks(tmp_path: Path) -> None:
    model = made(tmp_path, "vocab.json")
    (model.folder / "merges.txt").unlink()
    with pytest.raises(UserError, match=r"merges\.txt: the tokenizer is not whole without this file"):
        package(model, META, tmp_path / "out")
    (model.folder / "vocab.json").unlink()
    with pytest.raises(UserError, match=r"no tokenizer\.json, vocab\.json with merges\.txt"):
        package(model, META, tmp_path / "out")
    (model.folder / "special_tokens_map.json").unlink()
    with pytest.raises(UserError, match="takes token ids, and no tokenizer lies beside it"):
        package(model, META, tmp_path / "out")


@pytest.mark.parametrize("name", ["tokenizer.json", "chat_template.jinja"])
def test_ox_08_another_tokenizer_or_template_than_the_sources_is_refused(tmp_path: Path, name: str) -> None:
    model = made(tmp_path, "chat_template.jinja")
    source = shutil.copytree(model.folder, tmp_path / "source")
    text = (source / name).read_text()
    (source / name).write_text(text.replace("<{{", "[{{").replace('"Hi": 1', '"Hi": 4').replace('"!": 4', '"!": 1'))
    with pytest.raises(UserError, match=r"does not do what the source's does"):
        package(model, samples.CHAT, tmp_path / "out", source=source)
    assert not (tmp_path / "out").exists()


def test_a_template_that_does_not_render_is_refused(tmp_path: Path) -> None:
    model = made(tmp_path, "chat_template.jinja")
    (model.folder / "chat_template.jinja").write_text("{{ raise_exception('no assistant') }}")
    with pytest.raises(UserError, match="does not render a chat of two turns: no assistant"):
        package(model, samples.CHAT, tmp_path / "out")


def test_a_template_can_not_reach_what_is_not_its_own(tmp_path: Path) -> None:
    model = made(tmp_path, "chat_template.jinja")
    (model.folder / "chat_template.jinja").write_text("{{ messages.__class__.__mro__ }}")
    with pytest.raises(UserError, match="does not render a chat"):
        package(model, samples.CHAT, tmp_path / "out")


def test_bpe_pieces_merge_by_their_score(tmp_path: Path) -> None:
    model = made(tmp_path, "tokenizer.model")
    samples.piece_model(model.folder, kind=2)
    found = package(model, META, tmp_path / "out").manifest.tokenizer
    assert found is not None
    assert (found.layout, found.ids[0]) == ("tokenizer.model", 6)
    samples.piece_model(model.folder, kind=4)
    with pytest.raises(UserError, match="holds no unigram or BPE pieces"):
        package(model, META, tmp_path / "b")
    (model.folder / "tokenizer.model").write_bytes(b"\x0a\xff\xff\xff\xff\x7f")
    with pytest.raises(UserError, match="is no SentencePiece model"):
        package(model, META, tmp_path / "b")


def test_a_model_that_does_not_run_is_not_packaged(tmp_path: Path) -> None:
    model = external(tmp_path / "model", ["a.bin", "b.bin"])
    document = onnx.load(str(model.path), load_external_data=False)
    document.graph.node[1].op_type = "Sinh"
    model.path.write_bytes(document.SerializeToString())
    with pytest.raises(UserError):
        package(model, CLASSIFY, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    model = made(tmp_path)
    with pytest.raises(UserError, match="the folder isn't empty"):
        package(model, META, model.folder)


def test_the_bill_of_materials_lists_every_other_file(tmp_path: Path) -> None:
    built: Package = package(made(tmp_path), META, tmp_path / "out")
    bill = json.loads((built.folder / "sbom.cdx.json").read_text())
    listed = {row["name"]: row["hashes"][0]["content"] for row in bill["components"] if row["type"] == "file"}
    assert listed == {file.name: file.sha256 for file in built.manifest.files if file.role != "sbom"}
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["licenses"] == [{"license": {"name": "Apache-2.0"}}]


@pytest.mark.parametrize("metrics", [{"a": 1, "b": 0.5, "ok": True}, {"figures": {"a": 1, "b": 0.5}, "cpu": {"x": 1}}])
def test_the_figures_of_validation_stand_in_the_bill(tmp_path: Path, metrics: dict[str, object]) -> None:
    built = package(made(tmp_path), replace(META, metrics=metrics), tmp_path / "out")
    assert built.manifest.figures == {"a": 1, "b": 0.5}
    card = json.loads((built.folder / "sbom.cdx.json").read_text())["metadata"]["component"]["modelCard"]
    told = card["quantitativeAnalysis"]["performanceMetrics"]
    assert told == [{"type": "a", "value": "1"}, {"type": "b", "value": "0.5"}]
