"""``sluiceway up|preview|refresh|destroy|output STAGE``: the Pulumi program of a stage, with progress.

Plain ``pulumi`` after ``eval "$(sluiceway env STAGE)"`` does the same to the same state.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer

from sluiceway.cli.context import (
    Checked,
    check_stage,
    find_workspace,
    get_engine,
    local_ports,
    stage_variables,
    start_local,
)  # fmt: skip
from sluiceway.cli.gateway import ADMIN_KEY, open_admin
from sluiceway.cli.handed_on import hand_on
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text, say
from sluiceway.cli.watch import Watch, count_line
from sluiceway.domain.stage import LOCAL
from sluiceway.engine.automation import Result, StackOutput, StageStack
from sluiceway.errors import UserError
from sluiceway.progress import Progress
from sluiceway.release.conflict import FORCE

YesFlag = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]
LockWait = Annotated[float, typer.Option(help="Seconds to wait while another update holds the stack.", min=0)]


def register(app: typer.Typer) -> None:
    for command in (up, preview, refresh, destroy, output):
        app.command(command.__name__)(command)


def up(
    stage: StageArgument,
    lock_wait: LockWait = 60.0,
    force: Annotated[bool, typer.Option("--force", help="Also where it ends a split that is running.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Bring STAGE to what the repository says; the local stage is started first."""
    checked = check_stage(find_workspace(), stage)
    checked.settings.ready()
    watch = Watch("up", stage, quiet=as_json)
    result = run_up(checked, watch, lock_wait, force)
    _finish(checked, watch, result, as_json, _standing(checked, result))


def _standing(checked: Checked, result: Result) -> tuple[str, ...]:
    """How each rollout stands after an update that has changed something."""
    url = result.outputs.get("url")
    if not result.changed or url is None or not url.value or ADMIN_KEY not in checked.plan.secrets:
        return ()
    return hand_on(lambda: open_admin(checked.stage, str(url.value)), bool(checked.plan.rollout_sentences()))


def run_up(checked: Checked, watch: Watch, lock_wait: float, force: bool = False) -> Result:
    """The update itself, shown by ``watch``. ``force``: also where it ends a split that is running."""
    stack = _open(checked, watch, lock_wait, start=True)
    if force:
        stack = replace(stack, env={**stack.env, FORCE: "1"})
    stack.ensure()
    with watch:
        # What a provider can foresee (a host with DNS records, a route of somebody else's) ends it before any upload.
        replace(stack, on_event=None).preview()
        return stack.up()


def preview(stage: StageArgument, lock_wait: LockWait = 60.0, as_json: JsonFlag = False) -> None:
    """Show what `up` would change in STAGE; nothing is changed."""
    checked = check_stage(find_workspace(), stage)
    watch = Watch("preview", stage, quiet=as_json)
    stack = _open(checked, watch, lock_wait, start=False)
    _require_stack(stack)
    with watch:
        result = stack.preview()
    _finish(checked, watch, result, as_json)


def refresh(stage: StageArgument, yes: YesFlag = False, lock_wait: LockWait = 60.0, as_json: JsonFlag = False) -> None:
    """Read STAGE's resources and correct what Pulumi remembers of them."""
    _change("refresh", stage, yes, lock_wait, as_json)


def destroy(stage: StageArgument, yes: YesFlag = False, lock_wait: LockWait = 60.0, as_json: JsonFlag = False) -> None:
    """Delete STAGE's resources; what its settings retain is left."""
    _change("destroy", stage, yes, lock_wait, as_json)


def output(
    stage: StageArgument,
    name: Annotated[str | None, typer.Argument(help="One output; without it, all.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print what STAGE exported last; secret values are masked."""
    checked = check_stage(find_workspace(), stage)
    stack = _open(checked, Watch("output", stage, quiet=True), 0.0, start=False)
    _require_stack(stack)
    shown = _shown(stack.outputs())
    if name is not None and name not in shown:
        raise UserError("no such output", path=stage, got=name, hint=f"known: {', '.join(sorted(shown)) or 'none yet'}")
    if as_json:
        print_json(shown if name is None else shown[name])
    elif name is not None:
        print_text(str(shown[name]))
    else:
        for key, value in shown.items():
            print_text(f"{key}: {value}")


def _change(operation: str, stage: str, yes: bool, lock_wait: float, as_json: bool) -> None:
    checked = check_stage(find_workspace(), stage)
    if not yes:
        _ask(operation, stage)
    watch = Watch(operation, stage, quiet=as_json)
    stack = _open(checked, watch, lock_wait, start=False)
    _require_stack(stack)
    with watch:
        result = stack.destroy() if operation == "destroy" else stack.refresh()
    _finish(checked, watch, result, as_json)


def _ask(operation: str, stage: str) -> None:
    if not sys.stdin.isatty():
        raise UserError(f"{operation} of {stage} was not confirmed", hint=f"sluiceway {operation} {stage} --yes")
    if input(f"{operation} {stage}: type the stage's name to go on: ").strip() != stage:
        raise UserError(
            f"{operation} of {stage} was not confirmed; nothing was changed", hint=f"type {stage}, or pass --yes"
        )


def _open(checked: Checked, watch: Watch, lock_wait: float, *, start: bool) -> StageStack:
    progress = Progress()
    engine = get_engine(checked.workspace, progress)
    if checked.stage == LOCAL and start:
        front, api = local_ports()
        start_local(checked.workspace, progress, front_port=front, api_port=api)
    env = stage_variables(checked.workspace, checked.stage, engine)
    return StageStack(checked.workspace, checked.stage, engine, env, watch.on_event, lock_wait)


def _require_stack(stack: StageStack) -> None:
    if not stack.exists():
        raise UserError(
            "this stage has no stack yet",
            path=f"stacks/Pulumi.{stack.stage}.yaml",
            hint=f"`sluiceway up {stack.stage}` makes it"
            if stack.stage == LOCAL
            else f"pulumi stack init {stack.stage}",
        )


def _shown(outputs: Mapping[str, StackOutput]) -> dict[str, object]:
    return {name: "[secret]" if found.secret else found.value for name, found in outputs.items()}


def _finish(checked: Checked, watch: Watch, result: Result, as_json: bool, standing: tuple[str, ...] = ()) -> None:
    outputs = _shown(result.outputs)
    if as_json:
        print_json(
            {
                "stage": checked.stage,
                "operation": result.operation,
                "changes": result.changes,
                "steps": watch.steps_json(),
                "rollouts": list(checked.plan.rollout_sentences()),
                "standing": list(standing),
                "outputs": outputs,
                "seconds": round(result.seconds, 2),
            }
        )
        return
    if result.operation == "preview":
        for line in (*watch.summary(), *checked.plan.rollout_sentences()):
            print_text(line)
    say(count_line(result))
    if checked.plan.release.ramped and result.operation in ("up", "preview"):
        say(f"new code is uploaded only: `sluiceway release ramp {checked.stage}` moves requests to it")
    if result.operation == "up":
        _print_up(checked.stage, outputs, standing)


def _print_up(stage: str, outputs: Mapping[str, object], standing: tuple[str, ...]) -> None:
    print_text()
    for key in ("url", "release", "models"):
        if outputs.get(key):
            print_text(f"{key:<8} {_flat(outputs[key])}")
    for sentence in standing:
        print_text(f"{'rollout':<8} {sentence}")
    print_text()
    print_text("Try it:")
    print_text(f"  {outputs.get('curl', '')}")
    print_text()
    print_text("Watch it:")
    print_text(f"  .venv/bin/sluiceway logs {stage} -f")
    print_text(f"  .venv/bin/sluiceway top {stage}")
    if standing:
        print_text(f"  .venv/bin/sluiceway rollout watch {stage}")


def _flat(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(
            _flat(inner) if isinstance(inner, Mapping) else f"{key} {inner} %" for key, inner in value.items()
        )
    return str(value)
