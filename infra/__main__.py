"""The Pulumi program: settings -> catalogue -> plan -> render and bundle -> resources -> outputs."""

from __future__ import annotations

from pathlib import Path

import pulumi

from infra.configuration import read_settings, secret_value
from infra.exports import export_stage
from infra.faults import faults_told
from infra.program import declare
from sluiceway import catalog
from sluiceway.golden.probes import probe_bodies
from sluiceway.planning import plan
from sluiceway.render import render_stage
from sluiceway.workspace import Workspace


def main() -> None:
    stage = pulumi.get_stack()
    workspace = Workspace.find(Path(__file__).parent)
    settings = read_settings(stage)
    if not pulumi.runtime.is_dry_run():
        settings.ready()
    known = catalog.load_for(workspace, stage)
    planned = plan(settings, known, probe_bodies(workspace, settings, known))
    secrets = {name: secret_value(workspace, stage, name) for name in planned.secrets}
    rendered = render_stage(planned, workspace)
    for note in rendered.notes:
        pulumi.log.warn(note)
    if planned.release.ramped:
        said = "a new worker version is uploaded only; it serves once `sluiceway release ramp"
        pulumi.log.info(f"{said} {stage}` moves requests to it")
    export_stage(planned, rendered, declare(planned, rendered, secrets), workspace)


with faults_told():
    main()
