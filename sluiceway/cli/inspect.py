"""``sluiceway validate|render``: looks at what the repository says, changes nothing anywhere."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sluiceway import catalog, settings
from sluiceway.cli.context import Checked, check_stage, find_workspace
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text, say
from sluiceway.golden.load import load_all
from sluiceway.planning.warnings import needed, warnings
from sluiceway.render import render_stage


def register(app: typer.Typer) -> None:
    for command in (validate, render):
        app.command(command.__name__)(command)


def validate(
    stage: Annotated[str | None, typer.Argument(help="One stage; without it, all.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check the settings, the catalogue, the golden prompts and the plan of one stage or of all."""
    workspace = find_workspace()
    names = [stage] if stage else list(settings.stages(workspace))
    found = [check_stage(workspace, name) for name in names]
    golden = load_all(workspace, catalog.load(workspace))
    if as_json:
        print_json([_validated(one) for one in found])
        return
    for one in found:
        splits = "; ".join(
            f"{model.name} " + ", ".join(f"@{version} {weight} %" for version, weight in model.split.weights)
            for model in one.plan.models
        )
        print_text(f"{one.stage:<11} ok  {one.plan.worker_name}  {splits}")
        for row in _rollouts(one):
            print_text(f"{'':<15} {row['rollout']}")
            if row["needs"]:
                print_text(f"{'':<15} {row['needs']}")
        for warned in warnings(one.plan, one.settings.source):
            say(warned.render())
    for each in golden:
        print_text(f"{'golden':<11} ok  {each.model} {len(each.prompts)} prompts")


def _validated(one: Checked) -> dict[str, object]:
    found = warnings(one.plan, one.settings.source)
    return {
        "stage": one.stage,
        "worker": one.plan.worker_name,
        "ok": True,
        "rollouts": _rollouts(one),
        "warnings": [asdict(warned) for warned in found],
    }


def _rollouts(one: Checked) -> list[dict[str, str | None]]:
    return [
        {"model": model.name, "rollout": model.rollout.sentence(model.name), "needs": needed(model.rollout)}
        for model in one.plan.models
        if model.rollout
    ]


def render(stage: StageArgument, as_json: JsonFlag = False) -> None:
    """Render and bundle STAGE's Worker into .sluiceway/build/STAGE; nothing is deployed."""
    checked = check_stage(find_workspace(), stage)
    made = render_stage(checked.plan, checked.workspace)
    if as_json:
        print_json(
            {
                "stage": stage,
                "release": made.release,
                "bundle_sha256": made.bundle_digest,
                "gzip_bytes": made.gzip_bytes,
                "folder": str(made.out_dir),
                "modules": [module.name for module in made.modules],
            }
        )
        return
    print_text(f"{made.release}  {made.gzip_bytes / 1024:.0f} KiB gzipped  bundle {made.bundle_digest[:12]}")
    print_text(str(made.out_dir))
