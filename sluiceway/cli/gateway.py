"""How a command reaches a stage's gateway, as its owner or as a caller: where it answers, and the key."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

from sluiceway.cli.context import Checked, check_stage, find_workspace, get_engine, stage_variables
from sluiceway.cloudflare.gateway_admin import GatewayAdmin
from sluiceway.domain.stage import LOCAL
from sluiceway.engine.automation import StageStack
from sluiceway.engine.automation_secrets import get_secret
from sluiceway.errors import SluicewayError, UserError
from sluiceway.local import lifecycle
from sluiceway.progress import Progress

ADMIN_KEY = "ADMIN_KEY"
API_KEY = "API_KEY"
_LOCAL_FILES = {ADMIN_KEY: "admin-key", API_KEY: "api-key"}

UrlOption = Annotated[str | None, typer.Option("--url", help="Where the gateway answers; else the stage's output url.")]


def open_admin(stage: str, url: str | None) -> GatewayAdmin:
    """The admin endpoints of STAGE. Raises UserError when the URL or the key is not to be found."""
    checked = check_stage(find_workspace(), stage)
    if ADMIN_KEY not in checked.plan.secrets:
        raise UserError(
            f"the stage has no {ADMIN_KEY}, so its admin endpoints are closed",
            path=f"stacks/Pulumi.{stage}.yaml: config.sluiceway:secrets",
            got=list(checked.plan.secrets),
            hint=f"add {ADMIN_KEY} to the list, then `sluiceway secrets set {stage} {ADMIN_KEY}` and `up`",
        )
    return GatewayAdmin(url or _url(checked), _key(checked, ADMIN_KEY))


def find_gateway(checked: Checked, url: str | None) -> tuple[str, str | None]:
    """Where a stage answers its callers, and the key that they share; None where nobody is asked for one."""
    return url or _url(checked), _key(checked, API_KEY) if checked.plan.auth.required else None


def _url(checked: Checked) -> str:
    if checked.stage == LOCAL:
        return lifecycle.require_runtime(checked.workspace.local).front_url
    try:
        found = json.loads(_stack(checked).run("stack", "output", "url", "--json", "-s", checked.stage).stdout)
    except SluicewayError as fault:
        raise UserError(
            f"where {checked.stage} answers is not known: {fault.message}",
            path=fault.path,
            hint=f"`sluiceway up {checked.stage}` tells; or name it with --url",
        ) from fault
    if not found:
        raise UserError("nothing leads to this stage", path=checked.stage, hint="name its gateway's URL with --url")
    return str(found)


def _key(checked: Checked, name: str) -> str:
    """From the environment, the stack's configuration, or the file of the local stage: never from an argument."""
    variable, setting = f"SLUICEWAY_SECRET_{name}", f"sluiceway:{name.lower()}"
    stack_file = checked.workspace.root / "stacks" / f"Pulumi.{checked.stage}.yaml"
    text = os.environ.get(variable, "").strip()
    if not text and setting in stack_file.read_text(encoding="utf-8"):
        text = get_secret(_stack(checked), setting).strip()
    file = checked.workspace.local / _LOCAL_FILES[name]
    if not text and checked.stage == LOCAL and file.is_file():
        text = file.read_text(encoding="utf-8").strip()
    if text:
        return text
    command = f"`sluiceway secrets set {checked.stage} {name}`"
    raise UserError(
        f"the secret {name} has no value",
        path=f"stacks/Pulumi.{checked.stage}.yaml",
        hint="`sluiceway up local` makes one" if checked.stage == LOCAL else f"{command}, or set {variable}",
    )


def _stack(checked: Checked) -> StageStack:
    engine = get_engine(checked.workspace, Progress())
    env = stage_variables(checked.workspace, checked.stage, engine)
    return StageStack(checked.workspace, checked.stage, engine, env)
