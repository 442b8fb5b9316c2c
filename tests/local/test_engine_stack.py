"""The Automation driver on the real engine: counts, outputs, events, failures, locks."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path

import pytest

from sluiceway.engine.automation import StackOutput, StageStack
from sluiceway.engine.automation_errors import LockedError
from sluiceway.engine.automation_events import Message, Step
from sluiceway.engine.resolve import Engine
from sluiceway.errors import SluicewayError
from tests.local.engine_project import THREE_THINGS, Project, make_project

# Real updates one by one; tests/e2e goes the same way through the command.
pytestmark = pytest.mark.long

SLOW = """\
import pathlib, time, pulumi
if not pulumi.runtime.is_dry_run():
    pathlib.Path("started").touch()
    deadline = time.monotonic() + 120
    while not pathlib.Path("go-on").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
pulumi.export("done", True)
"""


@pytest.fixture
def project(tmp_path: Path, engine: Engine) -> Project:
    return make_project(tmp_path / "checkout", engine)


def test_a_stage_goes_through_its_whole_life(project: Project) -> None:
    stack = project.stack()
    assert stack.ensure()
    assert not stack.ensure()
    assert stack.preview().changes == {"create": 4}
    up = stack.up()
    assert up.changes == {"create": 4}
    assert up.outputs == {"answer": StackOutput(42, False)}
    done = {(one.op, one.name) for one in project.events if isinstance(one, Step) and one.phase == "done"}
    assert {("create", "a"), ("create", "b"), ("create", "c")} <= done
    again = stack.up()
    assert (again.changes, again.changed) == ({"same": 4}, 0)
    assert stack.refresh().changed == 0
    project.program(THREE_THINGS.replace('("a", "b", "c")', '("a", "c")'))
    assert stack.up().changes == {"same": 3, "delete": 1}
    assert stack.destroy().changes == {"delete": 3}


def test_of_two_that_make_the_stack_at_once_neither_fails(project: Project) -> None:
    first, second = project.stack(), project.stack()
    looked = second.exists
    answers = iter([False])  # what the second saw before the first was done
    second.exists = lambda: next(answers, None) is None and looked()  # type: ignore[method-assign]
    assert first.ensure()
    assert not second.ensure()


def test_modules_are_run_again_for_the_update_after_its_preview(project: Project) -> None:
    (project.workspace.root / "infra" / "parts.py").write_text(
        "import pulumi\npulumi.ComponentResource('test:index:Part', 'part')\n", encoding="utf-8"
    )
    project.program("import parts\n")
    stack = project.stack()
    stack.ensure()
    assert stack.run("up", "--yes", "-s", "local").code == 0  # preview and update in one engine process
    assert "test:index:Part" in stack.run("stack", "export", "-s", "local").stdout


def test_an_error_made_for_people_is_shown_without_a_traceback(project: Project) -> None:
    project.program(
        "from sluiceway.errors import UserError\nraise UserError('bad weight', path='x.yaml', hint='do so')\n"
    )
    stack = project.stack()
    stack.ensure()
    with pytest.raises(SluicewayError) as caught:
        stack.up()
    assert "error: x.yaml: bad weight\nhint: do so" in caught.value.message
    assert "Traceback" not in caught.value.message


def test_a_fault_in_the_program_is_shown_from_its_own_first_line_on(project: Project) -> None:
    project.program("def f():\n    return 1 / 0\nf()\n")
    stack = project.stack()
    stack.ensure()
    with pytest.raises(SluicewayError) as caught:
        stack.preview()
    assert "ZeroDivisionError" in caught.value.message
    assert "runpy" not in caught.value.message
    assert caught.value.message.count("Traceback") == 1


def test_what_the_program_prints_reaches_the_person(project: Project) -> None:
    project.program("print('模型 🦊 says hello')\n")
    stack = project.stack()
    stack.ensure()
    stack.preview()
    assert "模型 🦊 says hello" in [one.text for one in project.events if isinstance(one, Message)]


def test_pu_03_a_second_update_waits_for_the_lock_and_then_succeeds(project: Project) -> None:
    project.program(SLOW)
    first, second = project.stack(), project.stack()
    first.ensure()
    runner = start(first, project)
    said: list[str] = []

    def on_event(event: Step | Message) -> None:
        if isinstance(event, Message) and event.severity == "warning":
            said.append(event.text)
            go_on(project)

    second.on_event = on_event
    result = second.up()
    runner.join()
    assert result.outputs["done"].value is True
    assert any("is locked by" in text and "(pid " in text for text in said)


def test_pu_03_without_waiting_the_lock_has_an_exit_code_of_its_own(project: Project) -> None:
    project.program(SLOW)
    first, second = project.stack(), project.stack()
    second.lock_wait = 0
    first.ensure()
    runner = start(first, project)
    with pytest.raises(LockedError, match=r"locked by \S+@\S+ \(pid \d+\)") as caught:
        second.up()
    go_on(project)
    runner.join()
    assert caught.value.exit_code == 4


def test_pu_03_two_stages_at_once_keep_to_their_own_resources(project: Project) -> None:
    project.program(
        "import time, pulumi\ntime.sleep(0.5)\n"
        "for n in range(8):\n    pulumi.ComponentResource('test:index:Thing', f'{pulumi.get_stack()}-{n}')\n"
    )
    stacks = [project.stack("a"), project.stack("b")]
    for stack in stacks:
        stack.ensure()
    runners = [threading.Thread(target=stack.up) for stack in stacks]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    for mine, other in (stacks, stacks[::-1]):
        state = mine.run("stack", "export", "-s", mine.stage).stdout
        assert state.count(f"::{mine.stage}-7") >= 1
        assert f"::{other.stage}-" not in state


def test_the_lock_of_a_dead_update_of_the_local_stage_is_released(project: Project) -> None:
    stack = project.stack()
    stack.ensure()
    stack.up()
    hold_lock(project, pid=2**22 - 3)
    assert stack.up().changed == 0
    assert any("which is dead" in one.text for one in project.events if isinstance(one, Message))


def start(stack: StageStack, project: Project) -> threading.Thread:
    """Begins an update in a thread; returns once its program runs, so that it holds the lock."""
    runner = threading.Thread(target=stack.up)
    runner.start()
    flag = project.workspace.root / "infra" / "started"
    deadline = time.monotonic() + 60
    while not flag.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return runner


def go_on(project: Project) -> None:
    (project.workspace.root / "infra" / "go-on").touch()


def hold_lock(project: Project, pid: int) -> None:
    """Leaves the lock file that a killed update leaves."""
    folder = project.workspace.pulumi_state / ".pulumi" / "locks" / "organization" / "engine-test" / "local"
    folder.mkdir(parents=True, exist_ok=True)
    content = {"pid": pid, "username": "nobody", "hostname": socket.gethostname(), "timestamp": "2026-01-01T00:00:00Z"}
    (folder / "0.json").write_text(json.dumps(content), encoding="utf-8")


def test_install_and_about_answer_without_noise(project: Project) -> None:
    stack = project.stack()
    stack.ensure()
    installed = stack.run("install")
    assert "Traceback" not in installed.stdout + installed.stderr
    about = stack.run("about", "--json").stdout
    assert "sluiceway" in {one["name"] for one in json.loads(about)["dependencies"]}
