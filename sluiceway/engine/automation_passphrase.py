"""The passphrase that opens a stage's secrets: asked for before the engine is, which takes an unset one for empty."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from sluiceway.engine.automation_errors import passphrase_error
from sluiceway.errors import SluicewayError

EMPTY_ALLOWED: Final = "SLUICEWAY_EMPTY_PASSPHRASE"
"""Set to 1 by whoever really made a stage with an empty passphrase."""

_SELF_MANAGED: Final = ("file:", "s3:", "gs:", "azblob:", "postgres:")


def check_passphrase(root: Path, stage: str, env: Mapping[str, str]) -> None:
    """Raises UserError if the stage's secrets are kept under a passphrase and none, or an empty one, is given.

    ``root`` is the checkout's; ``env`` goes before the process's own. A wrong passphrase is found by the engine,
    which stops before it changes anything.
    """
    given = {**os.environ, **env}
    if not _uses_passphrase(root / "stacks" / f"Pulumi.{stage}.yaml", given.get("PULUMI_BACKEND_URL", "")):
        return
    phrase = given.get("PULUMI_CONFIG_PASSPHRASE")
    if phrase is None and not given.get("PULUMI_CONFIG_PASSPHRASE_FILE"):
        raise passphrase_error(stage, "is not set")
    if phrase == "" and given.get(EMPTY_ALLOWED) != "1":
        raise passphrase_error(stage, "is empty")


def _uses_passphrase(stack_file: Path, backend: str) -> bool:
    settings = _settings(stack_file)
    if settings.get("encryptionsalt"):
        return True
    if settings.get("secretsprovider") or settings.get("encryptedkey"):
        return str(settings.get("secretsprovider")) == "passphrase"
    return backend.startswith(_SELF_MANAGED)


def _settings(stack_file: Path) -> dict[str, object]:
    try:
        read = yaml.safe_load(stack_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except yaml.YAMLError as error:
        raise SluicewayError("not YAML", path=str(stack_file), got=str(error).splitlines()[0]) from error
    return read if isinstance(read, dict) else {}
