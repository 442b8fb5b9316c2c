"""A checkout with one recipe and no models in it, and a builder whose stages are made by a function of the test."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sluiceway.pipeline.recipe import FOLDER, Recipe, load
from sluiceway.pipeline.runner.build import Builder
from sluiceway.pipeline.runner.spawn import Job, Outcome
from sluiceway.pipeline.runner.work import Work
from sluiceway.progress import Progress

DOCUMENT: dict[str, Any] = {
    "model": "tiny",
    "task": "embed",
    "source": {"folder": "tiny"},
    "export": {"kind": "given"},
    "passes": [{"kind": "fold"}, {"kind": "int8-dynamic", "ops": ["MatMul"]}],
    "validate": {"data": "tiny.jsonl", "min_cosine": 0.98},
}
CPU = {"machine": "m", "name": "n", "flags": [], "onnxruntime": "1"}


def checkout(root: Path, **change: Any) -> Recipe:  # noqa: ANN401 - parts of a document
    """A source that is no model, for stages that are made by the test."""
    (root / FOLDER / "tiny").mkdir(parents=True, exist_ok=True)
    (root / FOLDER / "tiny" / "model.onnx").write_bytes(b"graph")
    (root / FOLDER / "tiny.jsonl").write_text('{"text": "hello"}\n')
    return recipe(root, **change)


def recipe(root: Path, **change: Any) -> Recipe:  # noqa: ANN401 - parts of a document
    folder = root / FOLDER
    (folder / "tiny.yaml").write_text(yaml.safe_dump({**DOCUMENT, **change}, sort_keys=False))
    return load(root, "tiny")


def validation(**change: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of a document
    figures = {"cosine_min": 0.99, "size_mb": 1.0}
    return {
        "task": "embed", "verdict": "pass", "reasons": [], "figures": figures, "limits": [], "speed": None,
        "reference_speed": None, "cpu": CPU, **change,
    }  # fmt: skip


@dataclass
class Stages:
    """Makes stages as files of a few bytes. ``asked``: the kinds it was asked for. ``hooks``: run before a kind."""

    asked: list[str] = field(default_factory=list)
    hooks: dict[str, Callable[[Job], None]] = field(default_factory=dict)
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __call__(self, job: Job) -> Outcome:
        kind = job.arguments["kind"]
        self.asked.append(kind)
        out = Path(job.arguments["out"])
        (out / "model.onnx").write_bytes(kind.encode())
        if kind in self.hooks:
            self.hooks[kind](job)
        did = {"kind": kind, "weights_before": 2, "weights_changed": 2, "weights_asked": 2}
        usual: dict[str, dict[str, Any]] = {
            "source": {"origin": {"folder": "tiny"}},
            "export": {"opset": 17, "ir": 8},
            "validate": validation(),
            "package": {"digest": "d" * 64, "files": ["model.onnx"]},
        }
        report = {"pass": {**did, "bytes_before": 100, "bytes_after": 25, "notes": ["2 of 2 weights"]}}
        return Outcome(self.reports.get(kind, usual.get(kind, report)), 42.0)


@dataclass
class Clock:
    """Goes on by a second whenever it is asked."""

    at: float = 0.0

    def __call__(self) -> float:
        self.at += 1
        return self.at


def builder(root: Path, stages: Stages, work: Path | None = None, told: io.StringIO | None = None) -> Builder:
    progress = Progress(out=told or io.StringIO(), clock=Clock())
    place = Work(work or root / "work")
    return Builder(root, root / "cache", place, progress, run=stages, clock=Clock(), now=lambda: 1e9)
