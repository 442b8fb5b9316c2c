"""Reads models/*.yaml. The first fault is told with its file and path; nothing is read that isn't named there."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from sluiceway.catalog import lock
from sluiceway.catalog.catalog import Catalog
from sluiceway.catalog.model import File, ModelFile, Version
from sluiceway.catalog.workers_ai import IDS, RETIRED
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import ArtifactFile, Model, ModelVersion, check_model_name, parse_ref
from sluiceway.domain.stage import nearest
from sluiceway.errors import UserError
from sluiceway.settings import yaml_file
from sluiceway.settings.faults import told
from sluiceway.workspace import Workspace

FOLDER = "models"
PROMPT_BYTES = 100_000
Where = Callable[[str], str]


def load(workspace: Workspace) -> Catalog:
    """The catalogue of this checkout. UserError for the first fault, also when an artifact differs from its sha256."""
    folder = workspace.root / FOLDER
    models = tuple(_model(folder, path) for path in sorted(folder.glob("*.yaml")))
    defaults = [model.name for model in models if model.default]
    if len(defaults) > 1:
        raise UserError(
            f"two models are the default: {' and '.join(defaults)}", path=FOLDER, hint="keep default: true in one"
        )
    lock.check(folder, models)
    return Catalog(models)


def _model(folder: Path, path: Path) -> Model:
    shown = f"{FOLDER}/{path.name}"

    def where(dotted: str) -> str:
        return f"{shown}: {dotted}" if dotted else shown

    try:
        name = check_model_name(path.stem)
    except Fault as fault:
        raise UserError(fault.message, path=shown, got=fault.got) from None
    try:
        stated = ModelFile.model_validate(yaml_file.read(path, shown))
    except ValidationError as error:
        raise told(error, ModelFile, where) from None
    _check_numbers(name, stated, where)
    versions = tuple(
        _version(folder, stated, version, lambda dotted, at=at: where(f"versions[{at}].{dotted}"))  # type: ignore[misc]
        for at, version in enumerate(stated.versions)
    )
    return Model(name, stated.task, stated.default, versions)


def _check_numbers(name: str, stated: ModelFile, where: Where) -> None:
    if not stated.versions:
        raise UserError("a model has at least one version", path=where("versions"))
    last = 0
    for at, version in enumerate(stated.versions):
        ref = parse_ref(version.version)
        path = where(f"versions[{at}].version")
        if ref.model != name:
            raise UserError(f"versions in this file are versions of {name}", path=path, got=version.version)
        if ref.number <= last:
            raise UserError(
                "versions stand in rising order, each once", path=path, got=version.version, hint="add the new one last"
            )
        last = ref.number


def _version(folder: Path, stated: ModelFile, version: Version, where: Where) -> ModelVersion:
    ref = parse_ref(version.version)
    if version.backend == "onnx":
        _check_onnx(version, where)
    else:
        _check_served(stated, version, where)
    files = tuple(_file(folder, file, where(f"files[{at}]")) for at, file in enumerate(version.files))
    parameters = {key: value for key, value in version.parameters if value is not None}
    return ModelVersion(
        model=ref.model,
        number=ref.number,
        backend=version.backend,
        id=version.id,
        prompt=_prompt(folder, version, where("prompt_file")),
        parameters=MappingProxyType(parameters),
        files=files,
    )


def _check_onnx(version: Version, where: Where) -> None:
    if version.id is not None:
        raise UserError("an onnx version has files and no id", path=where("id"), got=version.id)
    if not version.files:
        raise UserError("an onnx version needs files", path=where("files"), hint="make them by the model's recipe")
    names = [file.name for file in version.files]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise UserError("a file's name stands once in a version", path=where(f"files[{at}].name"), got=name)


def _check_served(stated: ModelFile, version: Version, where: Where) -> None:
    if version.files:
        raise UserError(f"a {version.backend} version has an id and no files", path=where("files"))
    if not version.id:
        raise UserError(f"a {version.backend} version needs the id of its model", path=where("id"))
    if version.backend != "workers-ai":
        return
    if version.id in RETIRED:
        raise UserError(
            f"Cloudflare has retired this model and answers with {RETIRED[version.id]} under its name",
            path=where("id"),
            got=version.id,
        )
    if version.id not in IDS:
        near = nearest(version.id, list(IDS))
        hint = f"did you mean {near}?" if near else "ids that Cloudflare added since are listed in " + _TABLE
        raise UserError("Workers AI has no such model", path=where("id"), got=version.id, hint=hint)
    if IDS[version.id] != stated.task:
        raise UserError(f"this model's task is {IDS[version.id]}, not {stated.task}", path=where("id"), got=version.id)


_TABLE = "sluiceway/catalog/workers_ai.py"


def _prompt(folder: Path, version: Version, path: str) -> str | None:
    if version.prompt_file is None:
        return version.prompt
    if version.prompt is not None:
        raise UserError("a version has a prompt or a prompt_file, not both", path=path)
    source = folder / version.prompt_file
    if not source.is_file():
        raise UserError("the file doesn't exist", path=path, got=f"{FOLDER}/{version.prompt_file}")
    raw = source.read_bytes()
    if len(raw) > PROMPT_BYTES:
        raise UserError(f"a prompt is at most {PROMPT_BYTES} bytes long", path=path, got=len(raw))
    try:
        # CRLF from a checkout on Windows must not be another prompt, and so another release.
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"the file isn't UTF-8 at byte {error.start}", path=path, got=version.prompt_file) from None


def _file(folder: Path, file: File, path: str) -> ArtifactFile:
    source = folder / file.path
    shown = f"{FOLDER}/{file.path}"
    if not source.is_file():
        raise UserError("the file doesn't exist", path=f"{path}.path", got=shown, hint="make it by the model's recipe")
    size = source.stat().st_size
    if size != file.bytes:
        raise UserError(f"says {file.bytes} bytes, but {shown} has {size}", path=f"{path}.bytes")
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
