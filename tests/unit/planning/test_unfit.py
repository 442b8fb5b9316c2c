"""ONNX versions that a stage would list and never run: each is told before it is brought up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluiceway.catalog import Catalog
from sluiceway.domain.model import ArtifactFile, Model, ModelVersion, Task
from sluiceway.planning import plan
from sluiceway.planning.unfit import ENCODER_BYTES, LINEAR_BYTES
from sluiceway.planning.warnings import warnings
from sluiceway.settings import parse
from tests.unit.planning.test_plan import ACCOUNT

ROOT = Path(__file__).resolve().parents[3]
ENCODER = {"model.onnx": ENCODER_BYTES - 10, "model.onnx.data": 10, "tokenizer.json": 9, "vocab.txt": ENCODER_BYTES}
LINEAR = {"model.onnx": LINEAR_BYTES, "model.json": 9}


def told(task: Task, files: dict[str, int], weight: int = 100) -> list[tuple[str, str]]:
    made = tuple(ArtifactFile(name, f"artifacts/near/2/{name}", "a" * 64, size) for name, size in files.items())
    versions = (ModelVersion("near", 1, "workers-ai", "@cf/x/y"), ModelVersion("near", 2, "onnx", files=made))
    split = [{"version": "near@1", "weight": 100 - weight}, {"version": "near@2", "weight": weight}]
    mapping = {"account_id": ACCOUNT, "models": {"near": {"split": [one for one in split if one["weight"]]}}}
    found = warnings(
        plan(parse(mapping, "here", stage="dev"), Catalog((Model("near", task, False, versions),))), "here"
    )
    return [(one.message, one.path) for one in found]


@pytest.mark.parametrize(("task", "files"), [("embed", ENCODER), ("classify", LINEAR)])
def test_a_version_as_large_as_can_be_run_is_not_told_of(task: Task, files: dict[str, int]) -> None:
    assert told(task, files) == []


@pytest.mark.parametrize(
    ("task", "files", "said"),
    [
        ("embed", {**ENCODER, "model.onnx.data": 11}, "has at most 33,554,432 bytes, and it has 33,554,433"),
        ("embed", {"model.onnx": 9}, "it has no tokenizer.json"),
        ("embed", {"weights.onnx": 9}, "it has no model.onnx and no tokenizer.json"),
        ("classify", {"model.onnx": LINEAR_BYTES + 1}, "a linear classifier has at most 4,000,000 bytes"),
        ("classify", {"model.json": 9}, "it has no model.onnx"),
        ("chat", ENCODER, "no ONNX model of task chat is run here"),
    ],
)
def test_a_version_that_can_not_be_run_is_told_of_where_it_is_served(
    task: Task, files: dict[str, int], said: str
) -> None:
    ((message, path),) = told(task, files)
    assert message.startswith("near@2 answers no requests: ") and said in message
    assert path == "here: config.sluiceway:models.near.split"
    assert told(task, files, weight=0) == []


def test_the_limits_are_those_of_the_workers() -> None:
    (mib,) = re.findall(r"models: (\d+) \* MIB", (ROOT / "inference/src/models.ts").read_text("utf-8"))
    (linear,) = re.findall(r"MOST_BYTES = ([\d_]+);", (ROOT / "worker/src/edge/linears.ts").read_text("utf-8"))
    assert (int(mib) * 2**20, int(linear)) == (ENCODER_BYTES, LINEAR_BYTES)
