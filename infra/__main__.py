"""The Pulumi program: settings -> catalogue -> plan -> render and bundle -> resources -> outputs."""

from __future__ import annotations

from pathlib import Path

import pulumi

from infra.configuration import read_settings, secret_value
from infra.exports import export_stage
from infra.program import declare
from sluiceway import catalog
from sluiceway.errors import SluicewayError
from sluiceway.planning import plan
from sluiceway.render import render_stage
from sluiceway.workspace import Workspace


def main() -> None:
    stage = pulumi.get_stack()
    workspace = Workspace.find(Path(__file__).parent)
    settings = read_settings(stage)
    if not pulumi.runtime.is_dry_run():
        settings.ready()
    planned = plan(settings, catalog.load(workspace))
    secrets = {name: secret_value(workspace, stage, name) for name in planned.secrets}
    rendered = render_stage(planned, workspace)
    export_stage(planned, rendered, declare(planned, rendered, secrets), workspace)


try:
    main()
except SluicewayError as fault:
    # The engine prints a RunError as it is behind "error: ", and anything else as a traceback.
    raise pulumi.RunError(fault.render().removeprefix("error: ")) from None
