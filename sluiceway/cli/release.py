"""``sluiceway release``: how new code comes to serve, worker version by worker version, and how it is taken back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

import typer

from sluiceway.cli.actor import actor
from sluiceway.cli.context import check_stage, find_workspace
from sluiceway.cli.gateway import UrlOption
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text, say
from sluiceway.cli.release_stage import Opened, now, open_stage
from sluiceway.cli.release_view import (
    promotion_json,
    proof_json,
    proof_lines,
    version_json,
    world_json,
    world_lines,
)  # fmt: skip
from sluiceway.cli.stages import LockWait, run_up
from sluiceway.cli.watch import Watch
from sluiceway.errors import GateAborted, UserError
from sluiceway.release.promotion import Content, Difference, content, differences, own_settings
from sluiceway.release.proof import forgotten, proofs
from sluiceway.release.ramp import Plan
from sluiceway.release.read import read
from sluiceway.release.rollback import rollback as decide_rollback
from sluiceway.release.runner import Options, Runner, Told
from sluiceway.render import render_stage

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="How new code comes to serve, and goes back.")

Force = Annotated[bool, typer.Option("--force", help="Also where it ends what others put in place, which is recorded.")]
VersionArgument = Annotated[
    str | None, typer.Argument(help="A worker version, by the beginning of its id.", metavar="[VERSION]")
]
_MOST_TOLD = 8


@app.command()
def show(stage: StageArgument, as_json: JsonFlag = False) -> None:
    """Show which worker versions of STAGE serve, which are there, and what the last deployments say."""
    world = read(open_stage(stage).api)
    if as_json:
        print_json(world_json(stage, world))
    else:
        for line in world_lines(world):
            print_text(line)


@app.command()
def ramp(
    stage: StageArgument,
    version: VersionArgument = None,
    once: Annotated[bool, typer.Option("--once", help="Make one move and end; what comes next is read anew.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try a version again that was taken out.")] = False,
    force: Force = False,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Move requests to STAGE's newest worker version: a smoke test at 0 %, then step by step while gates hold.

    Killed at any point, the same command goes on. Exit code 3: it was taken out again.
    """
    opened = open_stage(stage, url)
    plan = opened.checked.plan.release
    told: list[Told] = []

    def tell(what: Told) -> None:
        told.append(what)
        say(what.sentence) if as_json else print_text(what.sentence)

    with opened.gates() as gates:
        say(f"gates: {gates.source}, by worker version")
        runner = Runner(
            opened.api, Plan(plan.steps, timedelta(seconds=plan.hold_s)), gates, opened.smoke,
            lambda gone: opened.withdraw(gone), now, time.sleep, tell, opened.record,
        )  # fmt: skip
        ended = runner.run(Options(version, force, retry, once))
    if ended.failed:
        raise GateAborted(ended.sentence.rstrip("."), path=stage, hint=f"`sluiceway release show {stage}`")
    if as_json:
        document = {"kind": ended.kind, "sentence": ended.sentence}
        print_json({"stage": stage, **document, "moves": [what.sentence for what in told]})


@app.command()
def rollback(
    stage: StageArgument,
    version: VersionArgument = None,
    force: Force = False,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Give all of STAGE's requests to an earlier worker version at once: VERSION, or the one before."""
    opened = open_stage(stage, url)
    found = decide_rollback(read(opened.api), version, actor=actor(), force=force)
    if found.shares:
        opened.api.deploy([(share.version, share.percent) for share in found.shares], found.message, force=force)
    opened.record(found.back)
    trouble = opened.withdraw(*found.withdrawn) if found.withdrawn else None
    if as_json:
        withdrawn = [version_json(each) for each in found.withdrawn]
        document = {"stage": stage, "sentence": found.sentence, "back": version_json(found.back)}
        print_json({**document, "left": version_json(found.left), "withdrawn": withdrawn, "trouble": trouble})
        return
    print_text(found.sentence)
    if trouble:
        say(trouble)


@app.command()
def proof(stage: StageArgument, as_json: JsonFlag = False) -> None:
    """Say which earlier worker versions of STAGE can come back, and what this checkout would break for them."""
    opened = open_stage(stage)
    world = read(opened.api)
    found = proofs(world, *opened.resources())
    if as_json:
        print_json(proof_json(stage, found, forgotten(world)))
    else:
        for line in proof_lines(found, forgotten(world)):
            print_text(line)


@app.command()
def promote(
    source: Annotated[str, typer.Argument(help="The stage that runs the release.", metavar="FROM")],
    target: Annotated[str, typer.Argument(help="The stage that is to run it.", metavar="TO")],
    check: Annotated[bool, typer.Option("--check", help="Compare only; change nothing.")] = False,
    lock_wait: LockWait = 60.0,
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Bring TO to the release that FROM serves; refuses when this checkout would make another of it."""
    left = _served(open_stage(source))
    checked = check_stage(find_workspace(), target)
    modules = render_stage(checked.plan, checked.workspace).modules
    right = content(target, {module.name: module.content for module in modules})
    if found := differences(left, right):
        raise _differs(left, right, found)
    own = own_settings(left, right)
    document = promotion_json(left, right, own)
    say(f"{left.digest}: {target} would run what {source} serves: one bundle, the same models, prompts and routing")
    for each in own:
        say(f"  each stage's own: {each.told(source, target)}")
    if not check:
        checked.settings.ready()
        watch = Watch("up", target, quiet=as_json)
        result = run_up(checked, watch, lock_wait, force)
        document["update"] = {"changes": result.changes, "seconds": round(result.seconds, 2)}
        if checked.plan.release.ramped:
            say(f"it is uploaded; `sluiceway release ramp {target}` moves requests to it")
    if as_json:
        print_json(document)


def _served(opened: Opened) -> Content:
    """What all requests of a stage get; UserError while two versions share them."""
    stage, world = opened.checked.stage, read(opened.api)
    current = world.current
    whole = next((share.version for share in current.shares if share.percent == 100), None) if current else None
    if current is None or whole is None:
        serves = f"serves {current.told(world.names)}" if current else "serves nothing yet"
        raise UserError(
            f"{stage} {serves}: there is no one release to promote",
            path=world.worker,
            hint=f"let its ramp end (`sluiceway release ramp {stage}`), or roll it back",
        )
    return content(stage, opened.api.modules(whole))


def _differs(left: Content, right: Content, found: Sequence[Difference]) -> UserError:
    told = [each.told(left.stage, right.stage) for each in found[:_MOST_TOLD]]
    more = f"; and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    return UserError(
        f"{right.stage} would not run the release that {left.stage} serves ({left.digest}, here {right.digest}): "
        f"{'; '.join(told)}{more}",
        path=f"stacks/Pulumi.{right.stage}.yaml",
        hint=f"check out the commit that {left.stage} runs, or make the two stacks say the same of their models",
    )
