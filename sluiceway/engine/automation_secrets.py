"""Secrets of a stage's configuration, and the passphrase that opens them.

Values go to the engine through its stdin and come back as JSON, so any string survives (a leading dash,
new lines at the end, any script), and none shows in a process list or an error.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml
from pulumi.automation import CommandError

from sluiceway.engine.automation_command import said_by
from sluiceway.engine.automation_errors import failure, passphrase_error
from sluiceway.errors import SluicewayError

if TYPE_CHECKING:
    from sluiceway.engine.automation import StageStack

EMPTY_ALLOWED: Final = "SLUICEWAY_EMPTY_PASSPHRASE"
"""Set to 1 by whoever really made a stage with an empty passphrase."""

_SELF_MANAGED: Final = ("file:", "s3:", "gs:", "azblob:", "postgres:")


def stack_file(stack: StageStack) -> Path:
    return stack.workspace.root / "stacks" / f"Pulumi.{stack.stage}.yaml"


def check_passphrase(stack: StageStack) -> None:
    """Raises UserError if the stage's secrets are kept under a passphrase and none, or an empty one, is given.

    A wrong one is found by the engine, which stops before it changes anything.
    """
    if not _uses_passphrase(stack):
        return
    given = {**os.environ, **stack.env}
    phrase = given.get("PULUMI_CONFIG_PASSPHRASE")
    if phrase is None and not given.get("PULUMI_CONFIG_PASSPHRASE_FILE"):
        raise passphrase_error(stack.stage, "is not set")
    if phrase == "" and given.get(EMPTY_ALLOWED) != "1":
        raise passphrase_error(stack.stage, "is empty")


def set_secret(stack: StageStack, key: str, value: str) -> None:
    """Encrypts ``value`` into the stack file as ``key``. Raises SluicewayError if it would not come back the same."""
    check_passphrase(stack)
    command = ["config", "set", "--secret", "--raw", key, "-s", stack.stage]
    try:
        stack.command.run(command, str(stack.workspace.root), stack.env, stdin=value.encode())
    except CommandError as error:
        text = said_by(error)
        text = text.replace(value, "[secret]") if value else text  # the engine may quote it
        raise failure(stack.stage, f"setting secret {key}", text) from None
    if get_secret(stack, key) != value:
        hint = "use a newer Pulumi: `sluiceway engine` shows which is used"
        raise SluicewayError(f"secret {key} did not come back as it was set", hint=hint)


def get_secret(stack: StageStack, key: str) -> str:
    """The clear text of ``key``."""
    check_passphrase(stack)
    text = stack.run("config", "get", key, "--json", "-s", stack.stage).stdout
    return str(json.loads(text)["value"])


def _uses_passphrase(stack: StageStack) -> bool:
    settings = _settings(stack)
    if settings.get("encryptionsalt"):
        return True
    if settings.get("secretsprovider") or settings.get("encryptedkey"):
        return str(settings.get("secretsprovider")) == "passphrase"
    backend = {**os.environ, **stack.env}.get("PULUMI_BACKEND_URL", "")
    return backend.startswith(_SELF_MANAGED)


def _settings(stack: StageStack) -> dict[str, object]:
    try:
        read = yaml.safe_load(stack_file(stack).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except yaml.YAMLError as error:
        raise SluicewayError("not YAML", path=str(stack_file(stack)), got=str(error).splitlines()[0]) from error
    return read if isinstance(read, dict) else {}
