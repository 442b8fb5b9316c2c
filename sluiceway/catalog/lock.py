"""models/versions.lock: what each version meant when it was added, so that nobody changes one by accident.

One line a version, ``chat@1 <sha256>``. A version in the lock can't be changed or removed; a new one gets its line by

    python -m sluiceway.catalog
"""

from __future__ import annotations

import re
from pathlib import Path

from sluiceway.domain import release
from sluiceway.domain.model import Model, ModelVersion, parse_ref
from sluiceway.errors import UserError

NAME = "versions.lock"


def digest(version: ModelVersion) -> str:
    """sha256 over everything that makes a version answer as it does.

    Where its files lie is no part of that, nor which secret opens its server, nor what is known of the model:
    price, context window and vision; nor ``guided``, which is about what clients may send.
    """
    files: list[release.Json] = [
        {"name": file.name, "sha256": file.sha256, "bytes": file.bytes} for file in version.files
    ]
    meaning: dict[str, release.Json] = {
        "backend": version.backend,
        "id": version.id,
        "prompt": version.prompt,
        "parameters": dict(version.parameters),
        "files": files,
    }
    # Only where they are, so that versions from before they could be stated keep their digests.
    if version.base_url is not None:
        meaning["base_url"] = version.base_url
    if version.provider is not None:
        meaning["provider"] = version.provider
    if version.lora is not None:
        meaning["lora"] = version.lora
    return release.digest(meaning)


def read(folder: Path) -> dict[str, str]:
    """Digests by version."""
    path = folder / NAME
    if not path.is_file():
        return {}
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        line_form = re.fullmatch(r"(\S+@[1-9][0-9]*) ([0-9a-f]{64})", line)
        if line_form is None or line_form[1] in found:
            raise UserError(
                "a line is a version and its sha256, each version once",
                path=f"models/{NAME}:{number}",
                hint="put the line back as git has it; lines are written by: python -m sluiceway.catalog",
            )
        found[line_form[1]] = line_form[2]
    return found


def check(folder: Path, models: tuple[Model, ...]) -> None:
    """UserError when a version in the lock was changed or removed."""
    now = {str(version.ref): version for model in models for version in model.versions}
    for ref, locked in read(folder).items():
        model = parse_ref(ref).model
        if ref not in now:
            raise UserError(
                f"{ref} was removed", path=f"models/{model}.yaml", hint="a stage may still serve it: put it back"
            )
        if digest(now[ref]) != locked:
            following = max(version.number for version in _of(models, model).versions) + 1
            raise UserError(
                f"{ref} was changed, and a version keeps its meaning",
                path=f"models/{model}.yaml",
                hint=f"put it back as it was, and add the change as {model}@{following}",
            )


def missing_from_lock(folder: Path, models: tuple[Model, ...]) -> tuple[str, ...]:
    """Versions that have no line yet, in the catalogue's order."""
    locked = read(folder)
    return tuple(str(v.ref) for model in models for v in model.versions if str(v.ref) not in locked)


def require_locked(folder: Path, models: tuple[Model, ...]) -> None:
    """UserError for a version without a line: nothing keeps it from being changed after it was released."""
    missing = missing_from_lock(folder, models)
    if missing:
        raise UserError(
            f"{', '.join(missing)} has no line yet, so nothing would notice a later change",
            path=f"models/{NAME}",
            hint="write it with `python -m sluiceway.catalog`, and commit it with the version",
        )


def append(folder: Path, models: tuple[Model, ...]) -> tuple[str, ...]:
    """Writes a line for each version that has none; returns them."""
    added = missing_from_lock(folder, models)
    now = {str(version.ref): digest(version) for model in models for version in model.versions}
    lines = {**read(folder), **{ref: now[ref] for ref in added}}
    ordered = sorted(lines, key=parse_ref)
    head = "# What each version meant when it was added. Lines are added by: python -m sluiceway.catalog\n"
    (folder / NAME).write_text(head + "".join(f"{ref} {lines[ref]}\n" for ref in ordered), encoding="utf-8")
    return added


def _of(models: tuple[Model, ...], name: str) -> Model:
    return next(model for model in models if model.name == name)
