"""Reads models/*.yaml. The first fault is told with its file and path; nothing is read that isn't named there."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from sluiceway.catalog import checks, lock
from sluiceway.catalog.catalog import Catalog
from sluiceway.catalog.checks import Where
from sluiceway.catalog.model import File, ModelFile, Version
from sluiceway.catalog.workers_ai import MODELS
from sluiceway.domain.model import ArtifactFile, Model, ModelVersion, Price, parse_ref
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.settings import yaml_file
from sluiceway.settings.faults import told
from sluiceway.workspace import Workspace

FOLDER = "models"
PROMPT_BYTES = 100_000


def load(workspace: Workspace) -> Catalog:
    """The catalogue of this checkout. UserError for the first fault, also when an artifact differs from its sha256."""
    folder = workspace.root / FOLDER
    models = tuple(_model(folder, path) for path in sorted(folder.glob("*.yaml")))
    defaults = [model.name for model in models if model.default]
    if len(defaults) > 1:
        raise UserError(
            f"two models are the default: {' and '.join(defaults)}", path=FOLDER, hint="keep default: true in one"
        )
    _check_fallbacks(models)
    lock.check(folder, models)
    return Catalog(models)


def load_for(workspace: Workspace, stage: str) -> Catalog:
    """The catalogue for a stage. Only stage local takes versions that aren't in the lock yet."""
    found = load(workspace)
    if stage != LOCAL:
        lock.require_locked(workspace.root / FOLDER, found.models)
    return found


def _model(folder: Path, path: Path) -> Model:
    shown = f"{FOLDER}/{path.name}"

    def where(dotted: str) -> str:
        return f"{shown}: {dotted}" if dotted else shown

    name = yaml_file.model_name(path, shown)
    try:
        stated = ModelFile.model_validate(yaml_file.read(path, shown))
    except ValidationError as error:
        raise told(error, ModelFile, where) from None
    _check_numbers(name, stated, where)
    versions = tuple(
        _version(folder, stated, version, lambda dotted, at=at: where(f"versions[{at}].{dotted}"))  # type: ignore[misc]
        for at, version in enumerate(stated.versions)
    )
    return Model(name, stated.task, stated.default, versions, stated.fallback)


def _check_numbers(name: str, stated: ModelFile, where: Where) -> None:
    if not stated.versions:
        hint = f"add one, with version: {name}@1, backend: and the id: or the files: of what answers"
        raise UserError("a model has at least one version", path=where("versions"), hint=hint)
    last = 0
    for at, version in enumerate(stated.versions):
        ref = parse_ref(version.version)
        path = where(f"versions[{at}].version")
        if ref.model != name:
            hint = f"write {name}@{ref.number}, or move it to {FOLDER}/{ref.model}.yaml"
            raise UserError(f"versions in this file are versions of {name}", path=path, got=version.version, hint=hint)
        if ref.number <= last:
            raise UserError(
                "versions stand in rising order, each once", path=path, got=version.version, hint="add the new one last"
            )
        last = ref.number


def _version(folder: Path, stated: ModelFile, version: Version, where: Where) -> ModelVersion:
    ref = parse_ref(version.version)
    checks.check(stated, version, where)
    files = tuple(_file(folder, file, where(f"files[{at}]")) for at, file in enumerate(version.files))
    parameters = {key: value for key, value in version.parameters if value is not None}
    return ModelVersion(
        model=ref.model,
        number=ref.number,
        backend=version.backend,
        id=version.id,
        lora=version.lora,
        prompt=_prompt(folder, version, where("prompt_file")),
        parameters=MappingProxyType(parameters),
        files=files,
        base_url=version.base_url,
        secret=version.secret,
        provider=version.provider,
        guided=bool(version.guided),
        **_known(version),
    )


def _known(version: Version) -> dict[str, Any]:
    """Price, window and vision: as stated, else as they are published."""
    published = MODELS.get(version.id or "") if version.backend == "workers-ai" else None
    stated = version.price
    price = Price(stated.input, stated.output or 0.0, stated.cached) if stated else published and published.price
    window = version.context_window or (published.context_window if published else None)
    vision = version.vision if version.vision is not None else bool(published and published.vision)
    return {"price": price, "context_window": window, "vision": vision}


def _check_fallbacks(models: tuple[Model, ...]) -> None:
    catalog = Catalog(models)
    for model in models:
        for at, text in enumerate(model.fallback):
            path = f"{FOLDER}/{model.name}.yaml: fallback[{at}]"
            other = catalog.model(text.partition("@")[0], path)
            if "@" in text:
                catalog.version(parse_ref(text), path)
            if text == model.name:
                hint = "name another model, or one version of this one"
                raise UserError("a model can't stand in for itself", path=path, got=text, hint=hint)
            if other.task != model.task:
                hint = f"name a model of the task {model.task}"
                message = f"this model's task is {other.task}, not {model.task}"
                raise UserError(message, path=path, got=text, hint=hint)
            if model.task == "embed":
                checks.one_space(model, other, text, path)


def _prompt(folder: Path, version: Version, path: str) -> str | None:
    if version.prompt_file is None:
        return version.prompt
    if version.prompt is not None:
        hint = "take one of them out"
        raise UserError("a version has a prompt or a prompt_file, not both", path=path, hint=hint)
    source = folder / version.prompt_file
    if not source.is_file():
        hint = f"write the prompt into that file, or correct the path, which begins in {FOLDER}/"
        raise UserError("the file doesn't exist", path=path, got=f"{FOLDER}/{version.prompt_file}", hint=hint)
    raw = source.read_bytes()
    if len(raw) > PROMPT_BYTES:
        hint = f"shorten it by {len(raw) - PROMPT_BYTES} bytes"
        raise UserError(f"a prompt is at most {PROMPT_BYTES} bytes long", path=path, got=len(raw), hint=hint)
    try:
        # CRLF from a checkout on Windows must not be another prompt, and so another release.
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"the file isn't UTF-8 at byte {error.start}"
        raise UserError(message, path=path, got=version.prompt_file, hint="save it as UTF-8") from None


def _file(folder: Path, file: File, path: str) -> ArtifactFile:
    source = folder / file.path
    shown = f"{FOLDER}/{file.path}"
    if not source.is_file():
        raise UserError("the file doesn't exist", path=f"{path}.path", got=shown, hint="make it by the model's recipe")
    size = source.stat().st_size
    if size != file.bytes:
        hint = f"put the right file back by the model's recipe; in a new version, write bytes: {size}"
        raise UserError(f"says {file.bytes} bytes, but {shown} has {size}", path=f"{path}.bytes", hint=hint)
    with source.open("rb") as stream:
        found = _sha256(stream.read, size)
    if found != file.sha256:
        hint = "if the file was changed on purpose, add a version"
        raise UserError(f"isn't the sha256 of {shown}, which is {found}", path=f"{path}.sha256", hint=hint)
    return ArtifactFile(file.name, shown, file.sha256, file.bytes)


def _sha256(read: Callable[[int], bytes], size: int) -> str:
    running = sha256()
    for _ in range(0, size, 1 << 20):
        running.update(read(1 << 20))
    return running.hexdigest()
