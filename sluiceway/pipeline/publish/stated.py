"""models/MODEL.yaml as far as publishing needs it: which files a version has, whether or not they lie here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sluiceway.catalog.model import File, ModelFile
from sluiceway.domain.model import Backend, ModelRef, Task, parse_ref
from sluiceway.settings import yaml_file
from sluiceway.settings.faults import told

FOLDER = "models"


@dataclass(frozen=True)
class Stated:
    """A version as its file has it; ``files`` is empty unless the backend is onnx."""

    ref: ModelRef
    task: Task
    backend: Backend
    id: str | None
    files: tuple[File, ...]
    lora: str | None = None


def parse(text: str, model: str) -> tuple[Stated, ...]:
    """The versions in the text of models/MODEL.yaml. UserError for the first fault."""
    shown = f"{FOLDER}/{model}.yaml"
    try:
        found = ModelFile.model_validate(yaml_file.parse(text, shown))
    except ValidationError as error:
        raise told(error, ModelFile, lambda dotted: f"{shown}: {dotted}" if dotted else shown) from None
    return tuple(
        Stated(parse_ref(version.version), found.task, version.backend, version.id, version.files, version.lora)
        for version in found.versions
    )


def read(root: Path, model: str) -> tuple[Stated, ...]:
    """The versions of a model of the checkout at ``root``, in their order; none when it has no file."""
    path = root / FOLDER / f"{model}.yaml"
    return parse(path.read_text(encoding="utf-8"), model) if path.is_file() else ()


def read_all(root: Path) -> tuple[Stated, ...]:
    """All versions of all models of the checkout."""
    names = sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))
    return tuple(version for name in names for version in read(root, name))
