"""``sluiceway models evaluate``: whether a version answers the golden prompts as well as another."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from sluiceway import catalog
from sluiceway.catalog import Catalog
from sluiceway.cli.actor import actor
from sluiceway.cli.context import Checked, check_stage, find_workspace
from sluiceway.cli.gateway import UrlOption, find_gateway, open_admin
from sluiceway.cli.golden_view import lines
from sluiceway.cli.output import JsonFlag, print_json, print_text, say
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import ModelRef, parse_ref
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import GateAborted, UserError
from sluiceway.golden import load
from sluiceway.golden.asking import Gateway
from sluiceway.golden.load import Golden
from sluiceway.golden.matching import Matcher
from sluiceway.golden.model import Prompt
from sluiceway.golden.pairs import PairSettings
from sluiceway.golden.report import Report, document, report
from sluiceway.golden.run import Run, RunSettings, evaluate, few
from sluiceway.planning.parts import ModelPlan
from sluiceway.progress import Progress, human_seconds
from sluiceway.rollouts.client import Rollouts

Against = Annotated[str | None, typer.Option(help="The version to compare with; else the stage's stable one.")]
GoldenPath = Annotated[Path | None, typer.Option("--golden", help="Another file than models/golden/<model>.jsonl.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Take so many of the prompts only.")]
Rounds = Annotated[int, typer.Option(min=1, max=1000, help="How often each prompt is asked at most.")]
Parallel = Annotated[int, typer.Option(min=1, max=64, help="Prompts that are asked at once, each of both versions.")]
Margin = Annotated[float | None, typer.Option(min=0, max=0.99, help="How much worse a mean score from 0 to 1 may be.")]
ToTheEnd = Annotated[bool, typer.Option("--to-the-end", help="Ask all rounds, also when it is decided before.")]
RequirePass = Annotated[bool, typer.Option("--require-pass", help="Exit 3 when it stays undecided, too.")]
Posted = Annotated[bool, typer.Option("--report", help="Tell the verdict to the stage's rollout, as its check.")]


def register(app: typer.Typer) -> None:
    app.command("evaluate")(evaluate_)


def evaluate_(
    version: Annotated[str, typer.Argument(help="The candidate, chat@2.", metavar="VERSION")],
    stage: Annotated[str, typer.Argument(help="Where both answer.", metavar="STAGE")] = LOCAL,
    against: Against = None,
    golden: GoldenPath = None,
    limit: Limit = None,
    rounds: Rounds = 4,
    parallel: Parallel = 4,
    margin: Margin = None,
    seed: Annotated[int, typer.Option(help="Of the order in which prompts are asked.")] = 0,
    to_the_end: ToTheEnd = False,
    require_pass: RequirePass = False,
    posted: Posted = False,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask VERSION and another the golden prompts through STAGE's gateway, and say whether VERSION is worse."""
    checked = check_stage(find_workspace(), stage)
    asked = _asked(checked, version, against, golden)
    settings = RunSettings(
        str(asked.candidate), str(asked.stable), _test(asked.plan, margin), rounds, parallel, seed, not to_the_end
    )
    prompts = few(asked.golden.prompts, limit or len(asked.golden.prompts))
    if posted:
        _require_rollout(stage, url, asked)
    run = _run(settings, prompts, *find_gateway(checked, url))
    told = report(run)
    _show(run, told, asked.golden, stage, as_json)
    if posted:
        _post(stage, url, asked, told)
    if told.verdict == "fail" or (require_pass and told.verdict != "pass"):
        if as_json:
            raise typer.Exit(GateAborted.exit_code)
        hint = "the table shows where; look at models/golden, mend the version, and evaluate again"
        raise GateAborted(told.sentence.rstrip("."), path=asked.golden.source, hint=hint)


@dataclass(frozen=True)
class _Asked:
    """What is compared: two versions of one model that the stage serves, and the prompts."""

    plan: ModelPlan
    candidate: ModelRef
    stable: ModelRef
    golden: Golden


def _asked(checked: Checked, version: str, against: str | None, golden: Path | None) -> _Asked:
    known = catalog.load_for(checked.workspace, checked.stage)
    candidate = _ref(known, version, "VERSION")
    plan = next((model for model in checked.plan.models if model.name == candidate.model), None)
    if plan is None:
        served = ", ".join(model.name for model in checked.plan.models)
        hint = f"{checked.stage} serves {served}; add it to sluiceway:models in its stack file"
        raise UserError("the stage does not serve this model", path="VERSION", got=version, hint=hint)
    usual = plan.rollout.stable if plan.rollout else plan.split.weights[0][0]
    stable = _ref(known, against, "--against") if against else ModelRef(plan.name, usual)
    if stable.model != candidate.model or stable == candidate:
        hint = f"name another version of {candidate.model} with --against"
        raise UserError(
            "a version is compared with another version of its model", path="--against", got=str(stable), hint=hint
        )
    shown = f"{load.FOLDER}/{plan.name}.jsonl" if golden is None else str(golden)
    found = load.load(golden or checked.workspace.root / shown, shown, plan.name, known)
    return _Asked(plan, candidate, stable, found)


def _ref(known: Catalog, text: str, path: str) -> ModelRef:
    try:
        ref = parse_ref(text)
    except Fault as fault:
        raise UserError(fault.message, path=path, got=text, hint=fault.hint) from None
    return known.version(ref, path).ref


def _test(plan: ModelPlan, margin: float | None) -> PairSettings:
    """The margin that was asked for, else that of the rollout's gate ``golden``; its chances too."""
    usual, rollout = PairSettings(), plan.rollout
    gate = next((gate.margin for gate in rollout.gates if gate.name == "golden"), None) if rollout else None
    wanted = margin if margin is not None else gate if gate is not None else usual.margin
    return PairSettings(wanted, rollout.alpha, rollout.beta) if rollout else PairSettings(wanted)


def _run(settings: RunSettings, prompts: tuple[Prompt, ...], url: str, key: str | None) -> Run:
    often = "once" if settings.rounds == 1 else f"up to {settings.rounds} times"
    title = f"{settings.candidate} against {settings.stable}: {len(prompts)} prompts, {often} each"
    began = time.monotonic()
    with Matcher() as matcher, Progress().step(title) as note:

        def tell(run: Run) -> None:
            left = (run.planned - run.done) * (time.monotonic() - began) / run.done
            note(f"{run.done} of at most {run.planned} pairs, at most {human_seconds(left)} to go")

        async def ask() -> Run:
            async with Gateway(url, key, chance=random.random) as gateway:
                return await evaluate(prompts, gateway, settings, matcher.found, tell)

        run = asyncio.run(ask())
        note(f"{run.done} of at most {run.planned} pairs")
    return run


def _show(run: Run, told: Report, golden: Golden, stage: str, as_json: bool) -> None:
    if as_json:
        print_json({"stage": stage, "golden": golden.source, **document(run, told)})
        return
    for line in lines(run, told):
        print_text(line)
    if told.verdict == "inconclusive" and told.doubt is None:
        say("undecided: neither verdict is sure enough; more --rounds, more prompts or a wider --margin decide it")


def _require_rollout(stage: str, url: str | None, asked: _Asked) -> None:
    """UserError when the stage's rollout is of other versions: its check would be told of something else."""
    with open_admin(stage, url) as admin:
        view = Rollouts(admin).model(asked.candidate.model)
    if view.stable == asked.stable.number and asked.candidate.number in view.candidates:
        return
    running = ", ".join(str(number) for number in view.candidates) or "none"
    hint = "bring the stage up with a rollout of these versions, or evaluate without --report"
    message = f"the stage's rollout has stable {view.stable} and candidates {running}"
    raise UserError(message, path="--report", got=f"{asked.stable} -> {asked.candidate}", hint=hint)


def _post(stage: str, url: str | None, asked: _Asked, told: Report) -> None:
    model = asked.candidate.model
    body: dict[str, object] = {
        "check": "golden",
        "verdict": told.verdict,
        "summary": told.sentence.rstrip("."),
        "actor": actor(),
        "stable": asked.stable.number,
        "candidate": asked.candidate.number,
    }
    with open_admin(stage, url) as admin:
        admin.send("POST", f"/rollouts/{quote(model, safe='')}/checks", body, look="sluiceway rollout history")
    say(f"told the rollout of {model} on {stage}: {told.verdict}")
