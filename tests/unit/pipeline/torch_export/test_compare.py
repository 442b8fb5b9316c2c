"""What torch answered decides: a graph that answers otherwise, or no number, is no export. Torch is a stand-in here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.torch_export.compare import CASES, compare
from tests.unit.pipeline import tiny

Feeds = Mapping[str, NDArray[Any]]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """logits [batch, length, 1]: the ids as floats."""
    g = tiny.Graph()
    g.op("Unsqueeze", g.op("Cast", "input_ids", to=TensorProto.FLOAT), g.constant("last", [2]), out="logits")
    inputs = tiny.tokens([("input_ids", ["batch", "length"]), ("attention_mask", ["batch", "total"])])
    return tiny.save(tmp_path, g.model(inputs, [("logits", TensorProto.FLOAT, ["batch", "length", 1])])).path


def feeds(rows: int, length: int, past: int, padding: int = 0, seed: int = 0) -> Feeds:
    mask = np.ones((rows, past + length), np.int64)
    mask[1:, :padding] = 0
    return {"input_ids": np.random.default_rng(seed).integers(1, 9, (rows, length)), "attention_mask": mask}


def held(graph: Path, torch: Callable[[Feeds], NDArray[Any]], cached: bool = True) -> Any:  # noqa: ANN401 - plain JSON
    return compare(graph, ["logits"], cached, feeds, lambda made: [torch(made)])


def answer(made: Feeds) -> NDArray[Any]:
    return np.asarray(made["input_ids"], np.float32)[..., None]


def test_the_largest_difference_is_told_for_each_size(graph: Path) -> None:
    told = held(graph, lambda made: answer(made) + np.float32(1e-5))
    assert 0.9e-5 < told["largest"] < 1.1e-5
    sizes = [(case["rows"], case["length"], case["past"]) for case in told["cases"]]
    assert sizes == [*CASES, (3, 6, 0)]


def test_a_graph_without_a_cache_is_held_to_the_same_sizes_with_nothing_before(graph: Path) -> None:
    assert {case["past"] for case in held(graph, answer, cached=False)["cases"]} == {0}


def test_another_answer_is_no_export(graph: Path) -> None:
    with pytest.raises(SluicewayError, match=r"the exported logits isn't torch's at 1 rows of 1 after 7"):
        held(graph, lambda made: answer(made) * np.float32(1.01))


def test_an_answer_that_is_no_number_is_no_export(graph: Path) -> None:
    def spoilt(made: Feeds) -> NDArray[Any]:
        found = answer(made)
        found[0, -1] = np.nan
        return found

    with pytest.raises(SluicewayError, match="differs by nan"):
        held(graph, spoilt)


def test_another_shape_is_no_export(graph: Path) -> None:
    with pytest.raises(SluicewayError, match="differs by inf"):
        held(graph, lambda made: answer(made)[:, :, 0])


def test_what_the_mask_hides_is_nobodys_answer(graph: Path) -> None:
    def other_where_hidden(made: Feeds) -> NDArray[Any]:
        length = made["input_ids"].shape[1]
        return np.where(made["attention_mask"][:, -length:, None] == 0, np.nan, answer(made))

    assert held(graph, other_where_hidden)["largest"] == 0
