"""stage.json: what a finished stage is. A folder has one, whole, or the stage isn't finished."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sluiceway.pipeline.package.manifest import SIGNATURE
from sluiceway.pipeline.runner.stage import Stage

NAME = "stage.json"
OUT = "out"
"""The folder in a stage's folder that holds its files."""


@dataclass(frozen=True)
class FileFacts:
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Record:
    """``inputs`` are digests of stages; ``files``: by name, with forward slashes; ``report``: plain JSON, by kind."""

    stage: str
    digest: str
    inputs: tuple[str, ...]
    files: dict[str, FileFacts]
    report: dict[str, Any]
    seconds: float
    peak_mb: float

    @property
    def bytes(self) -> int:
        return sum(facts.bytes for facts in self.files.values())

    @property
    def model_bytes(self) -> int:
        """Of the graph and what lies beside it that isn't text: its external data."""
        return sum(facts.bytes for name, facts in self.files.items() if name.endswith((".onnx", ".data", ".onnx_data")))


def made(stage: Stage, out: Path, report: dict[str, Any], seconds: float, peak_mb: float) -> Record:
    """The record of a stage whose files lie in ``out``."""
    inputs = tuple(each.digest for each in stage.inputs)
    return Record(stage.kind, stage.digest, inputs, _files(out), report, round(seconds, 3), round(peak_mb, 1))


def write(record: Record, folder: Path) -> None:
    """Puts stage.json into ``folder`` in one move, the last thing that a stage does."""
    making = folder / f".{NAME}"
    with making.open("w", encoding="utf-8") as stream:
        json.dump(asdict(record), stream, indent=1, sort_keys=True, ensure_ascii=False)
        stream.flush()
        os.fsync(stream.fileno())
    making.replace(folder / NAME)


def read(folder: Path) -> Record | None:
    """The record in ``folder`` when the stage there is finished and its files are as they were made; else None."""
    try:
        document = json.loads((folder / NAME).read_bytes())
        files = {name: FileFacts(**facts) for name, facts in document.pop("files").items()}
        record = Record(**{**document, "inputs": tuple(document["inputs"])}, files=files)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return record if _as_made(record, folder / OUT) else None


def _as_made(record: Record, out: Path) -> bool:
    """Sizes first: they tell most of it without reading anything.

    A package that was made unsigned may have been signed since: what is signed is as it was made.
    """
    try:
        if any((out / name).stat().st_size != facts.bytes for name, facts in record.files.items()):
            return False
        found = _files(out)
        if record.stage == "package" and SIGNATURE not in record.files:
            found.pop(SIGNATURE, None)
        return found == record.files
    except OSError:
        return False


def _files(out: Path) -> dict[str, FileFacts]:
    found = {}
    for base, _, names in os.walk(out):
        for name in names:
            path = Path(base, name)
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            found[path.relative_to(out).as_posix()] = FileFacts(digest, path.stat().st_size)
    return dict(sorted(found.items()))
