"""A checkout with one recipe, and the command that builds it, as people run it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from sluiceway.pipeline.recipe import FOLDER
from sluiceway.pipeline.torch_export.environment import TORCH
from sluiceway.progress import Progress
from tests.export.tiny_models import WORDS
from tests.unit.pipeline import tiny

ROOT = Path(__file__).resolve().parents[2]


def python() -> str:
    return str(TORCH.python(Progress()))


def checkpoints(shared: Path) -> Path:
    """A folder of each of CONFIGS, made once for all processes of a run, which ``shared`` belongs to."""
    made = shared / "checkpoints"
    with FileLock(shared / "checkpoints.lock"):
        if not made.is_dir():
            making = shared / "checkpoints.making"
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            command = [python(), "-W", "ignore", "-m", "tests.export.tiny_models", str(making)]
            subprocess.run(command, check=True, env=env, capture_output=True)
            making.rename(made)
    return made


def make(root: Path, name: str, **recipe: Any) -> Path:  # noqa: ANN401 - parts of a document
    """The folder of the source: a checkpoint of CONFIGS[``name``] with a tokenizer; ``recipe`` is built of it."""
    (root / "stacks").mkdir(parents=True)
    shutil.copy(ROOT / "Pulumi.yaml", root)
    source = root / FOLDER / "tiny"
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    shutil.copytree(checkpoints(root.parent if alone else root.parents[1]) / name, source)
    tiny.tokenizer(source, WORDS)
    (root / FOLDER / "tiny.jsonl").write_text("".join(_rows(name == "xlm-roberta")), encoding="utf-8")
    document = {"model": "tiny", "source": {"folder": "tiny"}, **recipe}
    (root / FOLDER / "tiny.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return source


def build(root: Path, recipe: str = "tiny", *options: str) -> dict[str, Any]:
    """What `sluiceway models build RECIPE --json` tells; fails with what it said where it fails."""
    env = {**os.environ, "SLUICEWAY_ROOT": str(root)}
    command = [sys.executable, "-m", "sluiceway", "models", "build", recipe, *options, "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def report(told: dict[str, Any], stage: str) -> Any:  # noqa: ANN401 - plain JSON
    return next(each["report"] for each in told["stages"] if each["stage"] == stage)


def _rows(labelled: bool) -> list[str]:
    """Texts of unequal length, the same each time."""
    at = random.Random(1)
    texts = [" ".join(f"word{at.randrange(2, WORDS)}" for _ in range(3 + 2 * row)) for row in range(10)]
    rows = [{"text": text} | ({"label": f"LABEL_{row % 3}"} if labelled else {}) for row, text in enumerate(texts)]
    return [f"{json.dumps(row)}\n" for row in rows]
