"""``sluiceway local``, as far as no stage need run."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluiceway.cli.main import app
from sluiceway.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").touch()
    monkeypatch.setenv("SLUICEWAY_ROOT", str(tmp_path))
    return Workspace(tmp_path)


def test_reset_takes_what_pulumi_knew_of_the_stage_with_it(workspace: Workspace) -> None:
    kept = workspace.pulumi_state / ".pulumi/stacks/sluiceway/local.json"
    for path in (kept, workspace.local / "state.sqlite", workspace.private / "engine.stamp"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    done = CliRunner().invoke(app, ["local", "reset"])
    assert done.exit_code == 0
    assert "sluiceway up local" in done.output
    assert not (workspace.local / "state.sqlite").exists()
    assert not workspace.pulumi_state.exists()
    assert (workspace.private / "engine.stamp").exists()
