from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest

from models.recipes.intent import verify
from models.recipes.router import data, features, graph, logistic, train

ARTIFACT = train.OUT / "model.onnx"
PROMPTS = data.read(data.PROMPTS)


@pytest.fixture(scope="module")
def manifest() -> dict[str, object]:
    found: dict[str, object] = json.loads((train.OUT / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_the_recipe_gives_the_committed_bytes_again_in_another_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "models.recipes.router.train", "--out", str(tmp_path)]
    root = data.PROMPTS.parents[3]
    subprocess.run(command, check=True, cwd=root, env={"PYTHONHASHSEED": "7"}, capture_output=True)
    for name in ("model.onnx", "manifest.json"):
        assert (tmp_path / name).read_bytes() == (train.OUT / name).read_bytes()


def test_held_out_prompts_are_routed_right_and_length_alone_does_not_tell() -> None:
    _, held = data.divide(PROMPTS)
    assert len(held) >= 300
    found = train.shares(held, verify.run(ARTIFACT.read_bytes(), features.vectors(text for *_, text in held)))
    assert found["all"] >= 0.92
    assert min(found[name] for name in ("en", "zh", "simple", "complex")) >= 0.88
    assert data.of_length(held) <= 0.6


def test_the_manifest_says_what_was_measured(manifest: dict[str, object]) -> None:
    trained, held = data.divide(PROMPTS)
    content = ARTIFACT.read_bytes()
    rows = verify.run(content, features.vectors(text for *_, text in held))
    assert manifest["prompts"] == {"trained": len(trained), "held_out": len(held)}
    assert manifest["held_out_accuracy"] == train.shares(held, rows)
    assert manifest["length_alone"] == round(data.of_length(held), 4)
    assert manifest["file"] == {
        "name": "model.onnx",
        "bytes": len(content),
        "sha256": sha256(content).hexdigest(),
    }


def test_the_prompts_are_many_distinct_and_of_both_languages_and_labels() -> None:
    texts = [text for *_, text in PROMPTS]
    assert len(texts) == len(set(texts)) >= 700
    for label in data.LABELS:
        for language in ("en", "zh"):
            lengths = [len(text) for *kind, text in PROMPTS if kind == [label, language]]
            assert len(lengths) >= 175
            short, long = (36, 150) if language == "en" else (12, 60)
            assert sum(length <= short for length in lengths) >= 20
            assert sum(length >= long for length in lengths) >= 20


def test_no_held_out_prompt_is_nearly_one_that_was_trained_on() -> None:
    assert data.twins(*data.divide(PROMPTS)) == []


def test_nearly_the_same_prompt_is_a_twin_and_another_one_is_not() -> None:
    trained = [("simple", "en", "What does the word serendipity mean?")]
    assert data.twins(trained, [("simple", "en", "what does the word serendipity mean")]) != []
    assert data.twins(trained, [("simple", "en", "Which month comes after June?")]) == []


def test_the_file_is_small_self_contained_and_of_eight_bits() -> None:
    model = onnx.load(ARTIFACT, load_external_data=False)
    onnx.checker.check_model(model, full_check=True)
    assert ARTIFACT.stat().st_size <= 64_000
    assert [node.op_type for node in model.graph.node] == ["DequantizeLinear", "Gemm", "Softmax"]
    properties = {entry.key: entry.value for entry in model.metadata_props}
    assert properties == {"labels": "complex,simple", "lengths": "1,2", "cap": "1000", "norm": "l2"}


@pytest.mark.long
def test_the_settings_are_the_best_of_those_tried_on_the_training_half() -> None:
    trained, _ = data.divide(PROMPTS)
    chosen = train.crossed(trained, features.LENGTHS, features.BUCKETS, 200)
    for lengths in ((1, 2, 3), (2, 3)):
        assert chosen >= train.crossed(trained, lengths, features.BUCKETS, 200)


def test_onnxruntime_answers_as_the_weights_do() -> None:
    trained, _ = data.divide(PROMPTS)
    linear = graph.Linear.of(*train.fit(trained, features.LENGTHS, features.BUCKETS, train.EPOCHS))
    texts = [text for *_, text in PROMPTS[::25]]
    expected = linear.probabilities([features.places(text) for text in texts])
    answer = verify.run(ARTIFACT.read_bytes(), features.vectors(texts))
    assert np.abs(answer - expected).max() <= 1e-5


def test_eight_bits_keep_the_order_and_the_extremes() -> None:
    linear = graph.Linear.of(np.array([-254, 0, 127, 254], dtype=np.int64) * logistic.SCALE, 0)
    assert linear.weights.tolist() == [[127, -127], [0, 0], [-64, 64], [-127, 127]]


def test_only_the_beginning_of_a_text_is_looked_at() -> None:
    text = "why? " * 200
    assert features.places(text + "prove it") == features.places(text)
    assert features.places("") == features.places("  \n ")


def test_prompts_that_teach_nothing_are_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [data.LABELS[sha256(bytes([number])).digest()[0] % 2] for number in range(80)]
    lines = [f"{label}\ten\tthe same words {number}" for number, label in enumerate(labels)]
    (tmp_path / "p.tsv").write_text("\n".join(lines), encoding="utf-8")
    assert train.main(["--out", str(tmp_path / "out"), "--prompts", str(tmp_path / "p.tsv")]) == 1
    assert capsys.readouterr().err.startswith("refused: held-out accuracy")
    assert not (tmp_path / "out").exists()


def test_prompts_that_length_alone_tells_apart_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = [f"simple\ten\tthanks {number}" for number in range(40)]
    long = [f"complex\ten\tprove step by step that claim {number} holds" for number in range(40)]
    (tmp_path / "p.tsv").write_text("\n".join(short + long), encoding="utf-8")
    assert train.main(["--out", str(tmp_path / "out"), "--prompts", str(tmp_path / "p.tsv")]) == 1
    assert capsys.readouterr().err.startswith("refused: length alone names")
