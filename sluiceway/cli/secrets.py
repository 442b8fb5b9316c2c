"""``sluiceway secrets``: the encrypted values in a stack file. A value comes in by stdin, never as an argument."""

from __future__ import annotations

import getpass
import sys

import typer

from sluiceway.cli.context import check_stage, find_workspace, get_engine, stage_variables
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text, say
from sluiceway.engine.automation import StageStack
from sluiceway.engine.automation_secrets import set_secret
from sluiceway.errors import UserError
from sluiceway.progress import Progress

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Secrets of a stage, encrypted in its stack file.")


@app.command("list")
def list_(stage: StageArgument, as_json: JsonFlag = False) -> None:
    """List the secrets that STAGE's Worker takes, and the setting that holds each."""
    names = check_stage(find_workspace(), stage).plan.secrets
    rows = [{"secret": name, "setting": _setting(name)} for name in names]
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            print_text(f"{row['secret']}  {row['setting']}")


@app.command("set")
def set_(stage: StageArgument, name: str, as_json: JsonFlag = False) -> None:
    """Set secret NAME of STAGE to what comes in by stdin, byte for byte (on a terminal it asks)."""
    workspace = find_workspace()
    checked = check_stage(workspace, stage)
    if name not in checked.plan.secrets:
        known = ", ".join(checked.plan.secrets) or "none"
        raise UserError(
            "not a secret of this stage", path=f"stacks/Pulumi.{stage}.yaml", got=name, hint=f"known: {known}"
        )
    engine = get_engine(workspace, Progress())
    stack = StageStack(workspace, stage, engine, stage_variables(workspace, stage, engine))
    stack.check_passphrase()
    set_secret(stack, _setting(name), _read(name))
    if as_json:
        print_json({"stage": stage, "secret": name, "set": True})
    else:
        print_text(f"{name} is set in stacks/Pulumi.{stage}.yaml")


def _setting(name: str) -> str:
    return f"sluiceway:{name.lower()}"


def _read(name: str) -> str:
    value = getpass.getpass(f"value of {name}: ") if sys.stdin.isatty() else _piped()
    if not value.strip():
        raise UserError("the value is empty; nothing was changed", path=name, hint="give it by stdin, or type it")
    if value.find("\n") == len(value) - 1:
        # What echo adds. A text of many lines is meant as it stands.
        say(f"note: the value of {name} ends in a line break, and keeps it; printf '%s' VALUE writes none")
    return value


def _piped() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as fault:
        raise UserError(
            "the value is not UTF-8 text", hint="encode binary values first, for example as base64"
        ) from fault
