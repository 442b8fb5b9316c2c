"""What the tests of passes share: a pass run on a model, and what a model answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from sluiceway.pipeline.checks.session import open_session
from sluiceway.pipeline.passes import PASSES
from sluiceway.pipeline.types import Model, PassReport


def apply(kind: str, source: Model, out: Path, **settings: Any) -> tuple[Model, PassReport]:  # noqa: ANN401
    out.mkdir(parents=True, exist_ok=True)
    report = PASSES[kind](settings).run(source, out)
    return Model(out / "model.onnx"), report


def answer(model: Model, rows: int = 96) -> NDArray[Any]:
    """The first output on two rows of 12 ids, the second row padded from the eighth on."""
    ids = (np.arange(24) * 5 % rows).reshape(2, 12)
    mask = np.ones((2, 12), np.int64)
    mask[1, 7:] = 0
    found: NDArray[Any] = open_session(model.path).run(None, {"input_ids": ids, "attention_mask": mask})[0]
    return found


def cosine(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The smallest over all rows; NaN if one holds a NaN."""
    lengths = np.sqrt((one * one).sum(-1) * (other * other).sum(-1))
    return float(((one * other).sum(-1) / lengths).min())


def ops(model: Model) -> list[str]:
    return [node.op_type for node in onnx.load_model(str(model.path), load_external_data=False).graph.node]


def weights(model: Model) -> dict[str, tuple[int, ...]]:
    """Shape of each initializer by name."""
    graph = onnx.load_model(str(model.path), load_external_data=False).graph
    return {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
