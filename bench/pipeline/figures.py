"""What a finished model is worth: its size, its answers against the reference, its speed beside the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.pipeline.report import Quality
from sluiceway.pipeline.validate import metrics, speed
from sluiceway.pipeline.validate.answers import OnnxModel, chosen
from sluiceway.pipeline.validate.encode import Feeds
from sluiceway.pipeline.validate.report import Speed

PROMPT: Final = 128
"""Tokens of the row that speed is taken on."""


def size_mb(folder: Path) -> float:
    """Of the graph and its data, in 10^6 bytes."""
    return sum(path.stat().st_size for path in folder.glob("model.onnx*")) / 1e6


def fixed(model: Path, name: str, size: int) -> None:
    """Says in the graph's inputs and outputs that the axis called ``name`` is ``size`` wide.

    The builder leaves the width of a head's cache open, though its graph takes no other than the model's own. Nothing
    else of the file is touched.
    """
    import onnx
    from onnxruntime.tools.onnx_model_utils import make_dim_param_fixed  # type: ignore[import-untyped]

    graph = onnx.load(model, load_external_data=False)
    make_dim_param_fixed(graph.graph, name, size)
    onnx.save(graph, model)


def decoder(model: Path, reference: Path) -> Quality:
    """Every token of the text in one go, against the logits in ``reference``."""
    ids = np.array([_ids(reference)], np.int64)
    wanted = np.load(reference / "reference.npy")
    got = chosen(OnnxModel(model).answer(row(ids[0])), "chat")[0]
    surprises = metrics.surprise(got[:-1], ids[0][1:])
    return {
        "rows": len(wanted),
        "kl": float(metrics.kl(wanted, got).mean()),
        "top1": float(metrics.top1(wanted, got).mean()),
        "perplexity": metrics.perplexity(surprises),
        "largest": float(np.abs(wanted - got).max()),
    }


def encoder(model: Path, reference: Path) -> Quality:
    """Each sentence by itself, against the vectors in ``reference``."""
    wanted, opened = np.load(reference / "reference.npy"), OnnxModel(model)
    got = np.stack([_vector(opened.answer(row(np.array(ids, np.int64)))) for ids in _ids(reference)])
    cosines = metrics.cosine(wanted, got)
    return {
        "rows": len(wanted),
        "cosine_min": float(cosines.min()),
        "cosine_mean": float(cosines.mean()),
        "rank": metrics.rank_correlation(wanted, got),
        "largest": float(np.abs(wanted - got).max()),
    }


def speeds(models: Sequence[Path], reference: Path, rounds: int) -> list[Speed]:
    """One thread, a process each, in turns. Sentences are strung together to a row of PROMPT tokens."""
    ids = _ids(reference)
    flat = ids if isinstance(ids[0], int) else [each for sentence in ids for each in sentence]
    return speed.measure(models, [row(np.array(flat[:PROMPT], np.int64))], rounds, 2)


def row(ids: NDArray[np.int64]) -> Feeds:
    return {"input_ids": ids[None], "attention_mask": np.ones_like(ids[None])}


def _vector(answer: Any) -> NDArray[Any]:  # noqa: ANN401 - outputs by name
    """The sentence's vector; where the model gives tokens only, what its maker does with them: mean, length 1."""
    if any(value.ndim == 2 for value in answer.values()):
        return np.asarray(chosen(answer, "embed")[0])
    mean = answer["last_hidden_state"][0].mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def _ids(reference: Path) -> Any:  # noqa: ANN401 - a list of ids, or of lists of them
    return json.loads((reference / "ids.json").read_text("utf-8"))
