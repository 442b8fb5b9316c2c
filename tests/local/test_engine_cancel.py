"""Ctrl-C, and death, in the middle of an update on the real engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluiceway.engine.resolve import Engine
from tests.children import ended
from tests.local.engine_project import Project, make_project

# Each presses Ctrl-C, or kills, in the middle of a real update: what else an update does is in tests/e2e.
pytestmark = pytest.mark.long

SLEEPY = """\
import pathlib, time, pulumi
pulumi.ComponentResource("test:index:Thing", "a")
pathlib.Path("started").touch()
time.sleep(120)
"""

UP = (
    "import os, pathlib, sys\n"
    "from sluiceway.engine.automation import StageStack\n"
    "from sluiceway.engine.resolve import resolve\n"
    "from sluiceway.progress import Progress\n"
    "from sluiceway.workspace import Workspace\n"
    "w = Workspace(pathlib.Path(sys.argv[1]))\n"
    "try:\n    StageStack(w, 'local', resolve(w, Progress()), dict(os.environ)).up()\n"
    "except KeyboardInterrupt:\n    sys.exit(130)\n"
)


@pytest.fixture
def project(tmp_path: Path, engine: Engine) -> Project:
    made = make_project(tmp_path / "checkout", engine, SLEEPY)
    made.stack().ensure()
    return made


@contextmanager
def begun(project: Project, command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """An update whose program runs."""
    env = {**os.environ, **project.env}
    child = subprocess.Popen(
        command, env=env, cwd=project.workspace.root, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    with ended(child):
        deadline = time.monotonic() + 60
        while not (project.workspace.root / "infra" / "started").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield child


def programs(project: Project) -> list[str]:
    """Command lines of this machine's processes that work in the project."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(project.workspace.root) in str((folder / "cwd").readlink()):
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def wait_for_none(project: Project) -> None:
    deadline = time.monotonic() + 20
    while left := programs(project):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def after(project: Project) -> None:
    """The stack is free and sound."""
    project.program("import pulumi\npulumi.export('fine', True)\n")
    assert project.stack().up().outputs["fine"].value is True


def test_ctrl_c_ends_plain_pulumi_without_a_traceback_and_frees_the_stack(project: Project) -> None:
    with begun(project, ["pulumi", "up", "--yes", "--skip-preview", "-s", "local", "--non-interactive"]) as child:
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=30)
    assert child.returncode != 0
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said
    wait_for_none(project)
    after(project)


def test_ctrl_c_ends_an_update_of_ours_and_frees_the_stack(project: Project) -> None:
    with begun(project, [sys.executable, "-c", UP, str(project.workspace.root)]) as child:
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=30)
    assert (child.returncode, said) == (130, "")
    wait_for_none(project)
    after(project)


def test_after_kill_9_of_the_engine_nothing_of_it_runs_on_and_the_next_update_works(project: Project) -> None:
    with begun(project, ["pulumi", "up", "--yes", "--skip-preview", "-s", "local", "--non-interactive"]) as child:
        child.kill()
        child.communicate(timeout=30)
    wait_for_none(project)
    after(project)


TALKING = """\
import pathlib, time, pulumi
pulumi.ComponentResource("test:index:Thing", "a")
pathlib.Path("started").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.05)
for number in range(50):
    pulumi.log.info(f"line {number} that nobody reads")
    pulumi.ComponentResource("test:index:Thing", f"b{number}")
pulumi.export("fine", True)
"""


def test_after_kill_9_of_an_update_of_ours_its_engine_still_writes_down_all_that_it_made(project: Project) -> None:
    """An engine that dies of its broken pipe forgets what it is creating: the next update finds it in the way."""
    project.program(TALKING)
    with begun(project, [sys.executable, "-c", UP, str(project.workspace.root)]) as child:
        child.kill()
        child.communicate(timeout=30)
    (project.workspace.root / "infra" / "go").touch()
    wait_for_none(project)
    assert project.stack().outputs()["fine"].value is True
    resources = json.loads(project.stack().run("stack", "export", "-s", "local").stdout)["deployment"]["resources"]
    names = {one["urn"].rpartition("::")[2] for one in resources}
    assert {"a", "b0", "b49"} <= names
