from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from models.recipes.intent import features, graph, softmax, train, verify

ARTIFACT = train.OUT


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("intent")
    assert train.main(["--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("name", ["model.onnx", "manifest.json"])
def test_the_recipe_gives_the_committed_bytes_again(made: Path, name: str) -> None:
    assert sha256((made / name).read_bytes()).hexdigest() == sha256((ARTIFACT / name).read_bytes()).hexdigest()


def test_the_file_is_small_and_self_contained() -> None:
    model = onnx.load(ARTIFACT / "model.onnx", load_external_data=False)
    onnx.checker.check_model(model, full_check=True)
    assert (ARTIFACT / "model.onnx").stat().st_size < 1_000_000
    assert [node.op_type for node in model.graph.node] == ["Gemm", "Softmax"]


def test_the_manifest_tells_the_file_and_its_accuracy() -> None:
    manifest = json.loads((ARTIFACT / "manifest.json").read_text(encoding="utf-8"))
    data = (ARTIFACT / "model.onnx").read_bytes()
    assert manifest["file"] == {"name": "model.onnx", "bytes": len(data), "sha256": sha256(data).hexdigest()}
    assert set(manifest["held_out_accuracy"]) == {"all", "en", "zh"}
    assert min(manifest["held_out_accuracy"].values()) >= train.ACCURACY
    assert manifest["sentences"] == {"trained": 288, "held_out": 72}


def test_no_held_out_sentence_was_trained_on() -> None:
    trained, held = train.divide(train.read(train.HERE / "sentences.tsv"))
    assert not {text for _, _, text in trained} & {text for _, _, text in held}
    assert {sentence[:2] for sentence in held} == {sentence[:2] for sentence in trained}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Fix this Python function, it throws an error", "code"),
        ("帮我修复这段Python代码的错误", "code"),
        ("Translate this letter into French", "translation"),
        ("把这句话翻译成英文", "translation"),
        ("Give me a short summary of this report", "summary"),
    ],
)
def test_the_file_names_plain_sentences_right_in_both_languages(text: str, label: str) -> None:
    labels = json.loads((ARTIFACT / "manifest.json").read_text(encoding="utf-8"))["labels"]
    (row,) = verify.run((ARTIFACT / "model.onnx").read_bytes(), features.vectors([text]))
    assert labels[int(row.argmax())] == label
    assert row.sum() == pytest.approx(1)


def test_features_are_alike_for_forms_that_look_alike() -> None:
    assert features.buckets("ＡＢＣ １２") == features.buckets("  abc 12 ")
    assert features.buckets("") == sorted({features.fnv1a(gram) % features.BUCKETS for gram in (b" ", b"  ")})
    assert features.fnv1a(b"") == 0x811C9DC5
    assert features.fnv1a(b"a") == 0xE40C292C


def weights() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    model = onnx.load(ARTIFACT / "model.onnx")
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return found["weights"], found["bias"]


def doctored(kind: str) -> bytes:
    matrix, bias = (array.copy() for array in weights())
    if kind == "NaN":
        matrix[:] = np.nan
    elif kind == "permuted":
        matrix = matrix[:, ::-1].copy()
    elif kind == "noise":
        matrix += np.random.default_rng(1).normal(0, 0.1, matrix.shape).astype(np.float32)
    elif kind == "one class less":
        matrix, bias = matrix[:, 1:].copy(), bias[1:].copy()
    elif kind == "a little noise":
        matrix += np.float32(1e-7)
    return graph.model_bytes(matrix, bias, ["x"] * len(bias))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("NaN", "an answer is NaN or infinite"),
        ("permuted", "probabilities differ by"),
        ("noise", "probabilities differ by"),
        ("one class less", "shape"),
        ("a little noise", None),
    ],
)
def test_ox_09_a_doctored_file_is_refused_with_the_right_reason(kind: str, reason: str | None) -> None:
    _, held = train.divide(train.read(train.HERE / "sentences.tsv"))
    rows = features.vectors(text for _, _, text in held)
    matrix, bias = (np.rint(array.astype(np.float64) * softmax.SCALE).astype(np.int64) for array in weights())
    expected = softmax.probabilities(matrix, bias, rows)
    if reason is None:
        verify.check(doctored(kind), rows, expected)
        return
    with pytest.raises(verify.Refused, match=f"^{reason}"):
        verify.check(doctored(kind), rows, expected)


def test_ox_02_weights_outside_the_file_are_refused() -> None:
    model = onnx.load(ARTIFACT / "model.onnx")
    tensor = model.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../x.bin")
    with pytest.raises(verify.Refused, match=r"^weight weights lies outside the file$"):
        verify.check(model.SerializeToString(), np.zeros((1, 1), np.int64), np.zeros((1, 1)))


def test_ox_09_sentences_that_teach_nothing_are_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{label}\ten\tthe same words {number}" for label in ("a", "b") for number in range(10)]
    (tmp_path / "s.tsv").write_text("\n".join(lines), encoding="utf-8")
    out = tmp_path / "out"
    assert train.main(["--out", str(out), "--sentences", str(tmp_path / "s.tsv")]) == 1
    assert capsys.readouterr().err.startswith("refused: held-out accuracy")
    assert not out.exists()


def test_a_damaged_line_of_sentences_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.tsv").write_text("# remark\ncode\ten\n", encoding="utf-8")
    assert train.main(["--out", str(tmp_path), "--sentences", str(tmp_path / "s.tsv")]) == 1
    assert capsys.readouterr().err == "refused: s.tsv:2: a line is label, language and sentence\n"
