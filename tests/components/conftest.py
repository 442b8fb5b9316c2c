"""One plan and one render of each stage, shared by the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from sluiceway import catalog, settings
from sluiceway.planning import StagePlan, plan
from sluiceway.render import RenderedStage, render_stage
from sluiceway.workspace import Workspace

WORKSPACE = Workspace.find(Path(__file__).parent)
STAGES = settings.stages(WORKSPACE)


@dataclass(frozen=True)
class Stages:
    """Plans and renders the stages of this checkout, each once, into ``checkout``: a folder of links to it."""

    checkout: Workspace

    def plan(self, stage: str) -> StagePlan:
        return plan(settings.load(WORKSPACE, stage), catalog.load(WORKSPACE))

    @cache  # noqa: B019 - lives as long as the session
    def render(self, stage: str) -> RenderedStage:
        return render_stage(self.plan(stage), self.checkout)


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Stages:
    return Stages(linked_checkout(tmp_path_factory.mktemp("checkout")))


def linked_checkout(folder: Path) -> Workspace:
    """A checkout at ``folder`` whose build folder is its own and whose sources are this one's."""
    for name in ("worker", "inference", "templates", "node_modules", "tsconfig.json"):
        (folder / name).symlink_to(WORKSPACE.root / name)
    return Workspace(folder)
