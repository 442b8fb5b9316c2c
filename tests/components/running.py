"""Declares a rendered stage against the mocks, as the program does, with one known secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pulumi

from infra.exports import export_stage
from infra.program import declare
from sluiceway.planning import StagePlan
from tests.components.conftest import Stages
from tests.components.harness import Run, Secret, run_program

CANARY = "S3CR-7f2a-canary"


def run_stage(stages: Stages, plan: StagePlan, preview: bool = False, out_dir: Path | None = None) -> Run:
    rendered = stages.render(plan.stage)
    if out_dir is not None:
        rendered = replace(rendered, out_dir=out_dir)

    def program() -> None:
        secrets = {name: pulumi.Output.secret(CANARY) for name in plan.secrets}
        export_stage(plan, rendered, declare(plan, rendered, secrets), stages.checkout)

    return run_program(program, plan.stage, preview)


def bindings_of(run: Run) -> list[dict[str, object]]:
    secret = run.one("WorkerVersion").inputs["bindings"]
    assert isinstance(secret, Secret)
    assert isinstance(secret.value, list)
    return secret.value
