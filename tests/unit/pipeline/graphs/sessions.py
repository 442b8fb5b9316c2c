"""Exports a tiny checkpoint and runs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray

from sluiceway.pipeline.graphs.export import ExportSettings, export
from tests.unit.pipeline.graphs import tiny

Ints = NDArray[np.int64]


def exported(tmp_path: Path, config: Mapping[str, object], tensors: tiny.Tensors, settings: ExportSettings) -> Path:
    """The folder of the checkpoint, ``source``, and beside it ``out``, whose model.onnx is given back."""
    source = tmp_path / "source"
    tiny.write(source, config, tensors)
    (tmp_path / "out").mkdir()
    return export(source, tmp_path / "out", settings).path


def run(path: Path, **feeds: NDArray[np.generic]) -> dict[str, NDArray[np.float32]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def tokens(rng: np.random.Generator, batch: int, length: int) -> Ints:
    return rng.integers(4, len(tiny.WORDS), (batch, length))


def padded(length: int, lengths: list[int], side: str) -> Ints:
    """A mask [batch, length] with that many ones a row, the zeros on ``side``."""
    slots = np.arange(length)
    rows = [slots < count if side == "right" else slots >= length - count for count in lengths]
    return np.array(rows).astype(np.int64)
