"""Weights beside the graph: the same answers, another layout, the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sluiceway.errors import SluicewayError
from tests.unit.pipeline import tiny
from tests.unit.pipeline.passes.apply import answer, apply


def test_large_weights_move_and_the_answers_stay(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    made, report = apply("beside", source, tmp_path / "out")
    graph, data = made.path.stat().st_size, (made.folder / "model.onnx.data").stat().st_size
    assert sorted(path.name for path in made.folder.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert data > 10 * graph and report.bytes_after == graph + data
    assert 0 < report.weights_changed < report.weights_before
    np.testing.assert_array_equal(answer(source), answer(made))
    again, _ = apply("beside", source, tmp_path / "again")
    for name in ("model.onnx", "model.onnx.data"):
        assert (made.folder / name).read_bytes() == (again.folder / name).read_bytes()


def test_a_quantised_model_moves_too(tmp_path: Path) -> None:
    small, _ = apply("int8-dynamic", tiny.encoder(tmp_path / "source"), tmp_path / "small")
    made, _ = apply("beside", small, tmp_path / "out", least=256)
    np.testing.assert_array_equal(answer(small), answer(made))


def test_a_model_without_large_weights_is_told_so_and_nothing_is_left(tmp_path: Path) -> None:
    source = tiny.encoder(tmp_path / "source")
    with pytest.raises(SluicewayError, match="beside: least: nothing would move"):
        apply("beside", source, tmp_path / "out", least=1_048_576)
    assert not (tmp_path / "out" / "model.onnx").exists()
