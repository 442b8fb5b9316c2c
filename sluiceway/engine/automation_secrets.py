"""Secrets of a stage's configuration.

Values go to the engine through its stdin and come back as JSON, so any string survives (a leading dash,
new lines at the end, any script), and none shows in a process list or an error.
"""

from __future__ import annotations

import json

from pulumi.automation import CommandError

from sluiceway.engine.automation import StageStack
from sluiceway.engine.automation_command import said_by
from sluiceway.engine.automation_errors import failure
from sluiceway.errors import SluicewayError


def set_secret(stack: StageStack, key: str, value: str) -> None:
    """Encrypts ``value`` into the stack file as ``key``. Raises SluicewayError if it would not come back the same."""
    stack.check_passphrase()
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
    stack.check_passphrase()
    text = stack.run("config", "get", key, "--json", "-s", stack.stage).stdout
    return str(json.loads(text)["value"])
