"""A small Pulumi project in a folder of its own, and the real engine on it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from sluiceway.engine.automation import StageStack
from sluiceway.engine.automation_events import Message, Step
from sluiceway.engine.resolve import Engine
from sluiceway.engine.shell_env import stage_env
from sluiceway.engine.shims import write_shims
from sluiceway.workspace import Workspace

PULUMI_YAML = """\
name: engine-test
runtime:
  name: python
  options:
    virtualenv: .venv
main: infra/
stackConfigDir: stacks
"""

THREE_THINGS = """\
import pulumi

class Thing(pulumi.ComponentResource):
    def __init__(self, name, value):
        super().__init__("test:index:Thing", name, {"value": value})
        self.register_outputs({"value": value})

for name in ("a", "b", "c"):
    Thing(name, name)
pulumi.export("answer", 42)
"""


@dataclass
class Project:
    """``events`` collects what operations tell."""

    workspace: Workspace
    engine: Engine
    env: dict[str, str]
    events: list[Step | Message]

    def program(self, text: str) -> None:
        (self.workspace.root / "infra" / "__main__.py").write_text(text, encoding="utf-8")

    def stack(self, stage: str = "local", **env: str) -> StageStack:
        return StageStack(self.workspace, stage, self.engine, self.env | env, self.events.append)

    def file(self, stage: str = "local") -> Path:
        return self.workspace.root / "stacks" / f"Pulumi.{stage}.yaml"

    def bytes_of_state(self) -> dict[str, bytes]:
        """Everything that an operation could change: the backend, without its history and locks, and stack files."""
        files = [*self.workspace.pulumi_state.rglob("*.json"), *(self.workspace.root / "stacks").iterdir()]
        kept = [file for file in files if "/locks/" not in str(file)]
        return {str(file): file.read_bytes() for file in kept}


def make_project(root: Path, engine: Engine, program: str = THREE_THINGS) -> Project:
    (root / "infra").mkdir(parents=True)
    (root / "stacks").mkdir()
    (root / "Pulumi.yaml").write_text(PULUMI_YAML, encoding="utf-8")
    (root / ".venv").symlink_to(sys.prefix)
    workspace = Workspace(root)
    write_shims(workspace, engine)
    workspace.pulumi_state.mkdir(parents=True)
    workspace.local.mkdir(parents=True)
    (workspace.local / "token").write_text("token", encoding="utf-8")
    at = "http://127.0.0.1:9"
    runtime = SimpleNamespace(api_url=at, front_url=at, s3_url=at, account_id="0" * 32)
    env = stage_env(workspace, "local", runtime, engine, os.environ)
    project = Project(workspace, engine, env, [])
    project.program(program)
    return project
