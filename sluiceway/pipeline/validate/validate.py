"""The way in: a model against its float original, on the data of its recipe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx

from sluiceway.errors import UserError
from sluiceway.pipeline.checks.external import data_files
from sluiceway.pipeline.validate import batches, speed
from sluiceway.pipeline.validate.answers import OnnxModel, open_answers
from sluiceway.pipeline.validate.compare import Drift, class_numbers, compare
from sluiceway.pipeline.validate.cpu import this_cpu
from sluiceway.pipeline.validate.data import Row, read_rows
from sluiceway.pipeline.validate.encode import Encoder, Tokens
from sluiceway.pipeline.validate.report import Report, Speed
from sluiceway.pipeline.validate.settings import Settings
from sluiceway.pipeline.validate.verdict import judge

VERSION = 1
"""Rises whenever the same model would get other figures."""


def validate(
    model: Path, reference: Path, settings: Settings, data: Path, tokenizer: Path | Encoder | None = None
) -> Report:
    """``model``: model.onnx. ``reference``: the float ONNX, or the folder of a checkpoint (the float64 forward).

    ``data``: a JSONL file of texts. ``tokenizer``: a folder with tokenizer.json, by default the model's; or what makes
    the features of a model that takes no tokens. The models' folders were checked before: nothing is trusted less here.
    Raises UserError for data or settings at fault, never for a model that answers badly: that is a Report.
    """
    settings, rows = settings.checked(), read_rows(data)
    if settings.min_accuracy is not None and rows[0].label is None:
        raise UserError("min_accuracy needs labels", path=str(data), hint='write rows as {"text": ..., "label": ...}')
    encoder = _encoder(model, tokenizer, settings)
    encoded = [row for row in encoder.encode([row.text for row in rows]) if len(row)]
    if len(encoded) != len(rows):
        raise UserError("a text has no tokens", path=str(data), hint="take it out")
    drift = _drift(model, reference, settings, rows, encoder, encoded)
    measured = _speeds(model, reference, settings, encoder, encoded) if not drift.faults else []
    figures = {**drift.figures, **sizes(model, reference)}
    if measured:
        figures["tokens_per_second"] = measured[0].tokens_per_second
    others = (*measured, None, None)[:2]
    findings = judge(figures, settings)
    return Report(settings.task, figures, findings, drift.faults, drift.unlike, this_cpu(), *others)


def sizes(model: Path, reference: Path) -> dict[str, float]:
    """``graph_mb``, ``size_mb`` with external data, and against a reference that is an ONNX file ``size_share``."""
    total = size_of(model)
    found = {"graph_mb": model.stat().st_size / 1e6, "size_mb": total / 1e6}
    return found if reference.is_dir() else found | {"size_share": total / size_of(reference)}


def size_of(model: Path) -> int:
    """Bytes of the graph and its external data."""
    names = data_files(onnx.load(model, load_external_data=False))
    return model.stat().st_size + sum((model.parent / name).stat().st_size for name in names)


def _drift(
    model: Path, reference: Path, settings: Settings, rows: Sequence[Row], encoder: Encoder, encoded: list[Any]
) -> Drift:
    ours, theirs, task = OnnxModel(model), open_answers(reference), settings.task
    names = class_names(ours, model.parent) if task == "classify" else ()
    classes = class_numbers([row.label for row in rows], names) if task == "classify" else None
    parts = [compare(ours, theirs, encoder, encoded, task, classes)]
    if not parts[0].faults:
        parts.append(batches.padded(ours, encoder, encoded, task))
        parts.append(batches.sizes(ours, theirs, encoder, encoded, task, settings.batches))
    figures = {name: value for part in parts for name, value in part.figures.items()}
    faults = tuple(fault for part in parts for fault in part.faults)
    return Drift(figures, faults, tuple(size for part in parts for size in part.unlike))


def class_names(model: OnnxModel, folder: Path) -> tuple[str, ...]:
    """The classes in order: the model's own property ``labels`` (a JSON list, or with commas), else config.json's."""
    said = model.properties.get("labels", "")
    if said:
        return tuple(map(str, json.loads(said))) if said.startswith("[") else tuple(said.split(","))
    path = folder / "config.json"
    names = json.loads(path.read_text("utf-8")).get("id2label", {}) if path.is_file() else {}
    return tuple(str(names[key]) for key in sorted(names, key=int))


def _encoder(model: Path, tokenizer: Path | Encoder | None, settings: Settings) -> Encoder:
    if tokenizer is not None and not isinstance(tokenizer, Path):
        return tokenizer
    side = "left" if settings.task == "chat" else "right"
    return Tokens(tokenizer or model.parent, side, settings.longest)


def _speeds(model: Path, reference: Path, settings: Settings, encoder: Encoder, encoded: Sequence[Any]) -> list[Speed]:
    """Of the model, and of the reference where that is a file too."""
    if not settings.rounds:
        return []
    paths = [model] if reference.is_dir() else [model, reference]
    feeds = [encoder.batch([row]) for row in encoded]
    return speed.measure(paths, feeds, settings.rounds, settings.runs)
