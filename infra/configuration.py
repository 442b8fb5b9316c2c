"""What the stack's configuration says: the settings of the stage, and its secrets as Outputs.

A secret is looked for in the stack's encrypted configuration, then in the environment, and on
stage local in the file that ``up`` makes. A missing one is an error in a preview too: with a
stand-in for it, the preview would show a new worker version that the update then doesn't make.
"""

from __future__ import annotations

import os

import pulumi
from pulumi.runtime import config as runtime_config

from sluiceway import settings
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.settings import Settings
from sluiceway.workspace import Workspace

_NAMESPACE = "sluiceway"
_LOCAL_FILES = {"API_KEY": "api-key", "ADMIN_KEY": "admin-key"}


def read_settings(stage: str) -> Settings:
    """The checked settings of the running stack; secret values never reach the parser."""
    values = {**runtime_config.get_config_env(), **runtime_config.CONFIG.get()}
    plain = {key: value for key, value in values.items() if not _is_secret(key)}
    return settings.parse(plain, _source(stage), stage=stage)


def secret_value(workspace: Workspace, stage: str, name: str) -> pulumi.Output[str]:
    """The secret ``name``, marked as one. Raises UserError saying how to set it."""
    key = f"{_NAMESPACE}:{name.lower()}"
    configured = pulumi.Config(_NAMESPACE).get_secret(name.lower())
    command = f"`sluiceway secrets set {stage} {name}`"
    if configured is not None:
        if not _is_secret(key):
            raise UserError(f"{key} is a secret in clear text", path=_source(stage), hint=f"encrypt it: {command}")
        return configured
    text = os.environ.get(f"SLUICEWAY_SECRET_{name}") or _local_file(workspace, stage, name)
    if not text:
        hint = f"{command}, or set SLUICEWAY_SECRET_{name}"
        if stage == LOCAL and name in _LOCAL_FILES:
            hint = f"`sluiceway up {stage}` makes one; else {hint}"
        raise UserError(f"the secret {name} has no value", path=_source(stage), hint=hint)
    return pulumi.Output.secret(text)


def _source(stage: str) -> str:
    return f"stacks/Pulumi.{stage}.yaml"


def _is_secret(key: str) -> bool:
    return runtime_config.is_config_secret(key) or key in runtime_config.get_config_secret_keys_env()


def _local_file(workspace: Workspace, stage: str, name: str) -> str | None:
    if stage != LOCAL or name not in _LOCAL_FILES:
        return None
    path = workspace.local / _LOCAL_FILES[name]
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None
