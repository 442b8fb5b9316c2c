"""Finds a stage's settings: the project's defaults, then what the stack file says, then the checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sluiceway.domain.fault import Fault
from sluiceway.domain.stage import Stage, in_order, nearest
from sluiceway.errors import UserError
from sluiceway.settings import checks, neighbours, yaml_file
from sluiceway.settings.faults import told
from sluiceway.settings.model import Settings
from sluiceway.workspace import MARKER, Workspace

PROJECT = "sluiceway"
_PREFIX = f"{PROJECT}:"
_TEXT = {"account_id", "worker_name"}  # settings that are text themselves, so never JSON in text
_OWN = {"stage", "source"}
_KEYS = tuple(key for key in Settings.model_fields if key not in _OWN)
_STACK_KEYS = ("config", "secretsprovider", "encryptedkey", "encryptionsalt", "environment")


def stages(workspace: Workspace) -> tuple[str, ...]:
    """The known stages, which are the files in stacks/."""
    found = [
        path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in _folder(workspace).glob("Pulumi.*.yaml")
    ]
    return in_order(found)


def require_stage(workspace: Workspace, stage: str) -> str:
    """``stage`` when it has a stack file; a UserError that lists the known ones otherwise."""
    known = stages(workspace)
    if stage not in known:
        near = nearest(stage, known)
        meant = f"did you mean {near}? " if near else ""
        raise UserError(f"there is no stage {stage!r}", path="stacks", hint=f"{meant}known stages: {', '.join(known)}")
    try:
        return Stage(stage).name
    except Fault as fault:
        raise UserError(fault.message, path=f"stacks/Pulumi.{stage}.yaml", hint=fault.hint) from None


def load(workspace: Workspace, stage: str) -> Settings:
    """The settings of ``stage``, as the engine would give them to the program. UserError for the first fault."""
    require_stage(workspace, stage)
    source = f"stacks/Pulumi.{stage}.yaml"
    document = yaml_file.read(_folder(workspace) / f"Pulumi.{stage}.yaml", source)
    for key in document:
        if key not in _STACK_KEYS:
            near = nearest(key, _STACK_KEYS)
            hint = f"did you mean {near!r}?" if near else f"settings stand under config: as {_PREFIX}{key}"
            raise UserError(f"unknown key {key!r}", path=source, hint=hint)
    stated = _own(_mapping(document.get("config"), f"{source}: config"), source, strict=True)
    defaults = {key: value for key, value in _defaults(workspace).items() if key not in stated}
    stated = _without_secrets(stated | defaults, source)

    def where(path: str) -> str:
        key = path.split(".")[0].split("[")[0]
        return f"{MARKER}: config.{path}" if key in defaults else _shown(source, path)

    settings = _checked(stated, stage, source, where)
    neighbours.check(workspace, settings, tuple(other for other in stages(workspace) if other != stage))
    return settings


def parse(mapping: Mapping[str, object], source: str, *, stage: str) -> Settings:
    """The settings in ``mapping``, for the Pulumi program.

    Keys may carry the project's name; other namespaces are passed over. The engine hands every value
    over as text, so text is read as JSON where the setting isn't text. The values of secrets needn't be in the
    mapping and are never looked at. UserError, beginning with ``source``, for the first fault.
    """
    stated = _own(mapping, source, strict=False)
    secrets = _secret_keys(stated, source)
    stated = {key: value for key, value in stated.items() if key not in secrets}
    return _checked(stated, stage, source, lambda path: _shown(source, path))


def _folder(workspace: Workspace) -> Path:
    return workspace.root / "stacks"


def _shown(source: str, path: str) -> str:
    return f"{source}: config.{_PREFIX}{path}" if path else f"{source}: config"


def _mapping(value: object, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        hint = f"write {_PREFIX}<setting>: <value> below it, each on a line of its own"
        raise UserError("must be a mapping", path=path, got=value, hint=hint)
    return value


def _own(config: Mapping[str, object], source: str, *, strict: bool) -> dict[str, Any]:
    own: dict[str, Any] = {}
    for key, value in config.items():
        if ":" not in key and strict:
            raise UserError(f"unknown key {key!r}", path=f"{source}: config", hint=f"write {_PREFIX}{key}")
        if ":" not in key or key.startswith(_PREFIX):
            own[key.removeprefix(_PREFIX)] = value
    return own


def _defaults(workspace: Workspace) -> dict[str, Any]:
    project = yaml_file.read(workspace.root / MARKER, MARKER)
    block = _mapping(project.get("config"), f"{MARKER}: config")
    found: dict[str, Any] = {}
    for key, declared in block.items():
        if ":" in key and not key.startswith(_PREFIX):
            continue
        name = key.removeprefix(_PREFIX)
        if not isinstance(declared, dict):
            found[name] = declared
        elif "default" in declared:
            found[name] = declared["default"]
    return found


def _secret_keys(stated: Mapping[str, Any], source: str) -> set[str]:
    """Where the values of secrets stand: their names in small letters, none of which may be a setting's."""
    names = _from_text("secrets", stated.get("secrets"))
    stated_names = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    keys = {name.lower(): name for name in stated_names or checks.STAGE_SECRETS}
    for key in keys:
        if key in _KEYS:
            raise UserError(
                "a secret has the name of a setting",
                path=_shown(source, "secrets"),
                got=keys[key],
                hint=f"its value would take the place of {_PREFIX}{key}: give it another name, like {keys[key]}_KEY",
            )
    return set(keys)


def _without_secrets(stated: dict[str, Any], source: str) -> dict[str, Any]:
    secrets = _secret_keys(stated, source)
    kept: dict[str, Any] = {}
    for key, value in stated.items():
        sealed = isinstance(value, dict) and set(value) == {"secure"}
        if key in secrets:
            if not sealed:
                raise UserError(
                    "a secret stands in clear text",
                    path=_shown(source, key),
                    hint=f"replace it now, then: pulumi config set --secret {_PREFIX}{key}",
                )
        elif sealed and key in _KEYS:
            raise UserError(
                "is encrypted, but is no secret and must be readable",
                path=_shown(source, key),
                hint=f"pulumi config set --plaintext {_PREFIX}{key}",
            )
        else:
            kept[key] = value
    return kept


def _from_text(key: str, value: object) -> object:
    """Text as JSON where the setting isn't text; the text itself when it's no JSON, to be refused by its type."""
    if key in _TEXT or not isinstance(value, str):
        return value
    try:
        return json.loads(value, object_pairs_hook=_pairs)
    except ValueError:
        return value


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _checked(stated: dict[str, Any], stage: str, source: str, where: Callable[[str], str]) -> Settings:
    for key in stated:
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            hint = f"did you mean {_PREFIX}{near}?" if near else f"known settings: {', '.join(_KEYS)}"
            raise UserError(f"unknown setting {_PREFIX}{key}", path=where("").removesuffix(_PREFIX), hint=hint)
    values = {key: _from_text(key, value) for key, value in stated.items()}
    # The engine wants a default for every declared key; an empty one means that the stage says nothing.
    said = {key: value for key, value in values.items() if value not in ({}, "", None)}
    try:
        settings = Settings.model_validate({**said, "stage": stage, "source": source})
    except ValidationError as error:
        raise told(error, Settings, where) from None
    checks.check(settings, where)
    return settings
