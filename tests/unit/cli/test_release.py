"""``sluiceway release``: what is asked of Cloudflare and the stage, and what is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from sluiceway.cli import release
from sluiceway.errors import GateAborted, UserError
from sluiceway.planning.releases import ReleasePlan
from sluiceway.release.gates import Reading
from sluiceway.release.proof import Changed, Exists
from sluiceway.release.world import WorkerVersion
from tests.unit.release.cloud import CLASSES, SECRET, Cloud

FILES = {"index.js": b"code", "config.json": json.dumps({"models": {"chat": {}}, "release": "r-1"}).encode()}
GOOD = Reading("pass", "errors pass")


class Api(Cloud):
    """The Worker in memory, with the files of every version."""

    def modules(self, version: str) -> dict[str, bytes]:
        return FILES


@dataclass
class Opened:
    api: Api
    reading: Reading = GOOD
    withdrawn: list[str] = field(default_factory=list)
    recorded: list[str | None] = field(default_factory=list)
    trouble: str | None = None
    ended: int = 0

    def __post_init__(self) -> None:
        plan = ReleasePlan(True, (10, 100), 0, 0.02, None)
        self.checked = SimpleNamespace(stage="staging", plan=SimpleNamespace(release=plan))

    def smoke(self, version: WorkerVersion) -> str | None:
        return None

    def withdraw(self, *versions: WorkerVersion) -> str | None:
        self.withdrawn += [version.order for version in versions]
        return self.trouble

    def record(self, version: WorkerVersion) -> None:
        self.recorded.append(version.release)

    def resources(self) -> tuple[Changed, Exists]:
        return Changed(tuple(CLASSES.items()), frozenset({"API_KEY"}), frozenset()), Exists({})

    @contextmanager
    def gates(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(source="the stage's log", verdict=lambda *_: self.reading, end=self.end)

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """A first version serves, a second is uploaded."""
    opened = Opened(Api())
    opened.api.deploy([(opened.api.upload(bindings=[SECRET]), 100)])
    opened.api.upload(bindings=[SECRET])
    monkeypatch.setattr(release, "open_stage", lambda stage, url=None: opened)
    monkeypatch.setattr(release, "actor", lambda: "ann")
    monkeypatch.setattr("time.sleep", lambda _: None)
    return opened


def run(*words: str) -> tuple[str, str]:
    done = CliRunner().invoke(release.app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def document(*words: str) -> Any:  # noqa: ANN401 - what a command printed
    return json.loads(run(*words, "--json")[0])


def test_show_names_what_serves_and_what_each_deployment_says(stage: Opened) -> None:
    out, _ = run("show", "staging")
    first, second = (version.id[:8] for version in stage.api.uploaded)
    assert f"serves {first} (r-000000000001) 100 %" in out
    assert f"{second}  r-000000000002      -" in out
    found = document("show", "staging")
    assert found["serves"][0]["versions"] == [
        {"id": stage.api.uploaded[0].id, "percent": 100, "release": "r-000000000001"}
    ]
    assert [version["number"] for version in found["versions"]] == [2, 1]


def test_ramp_prints_each_move_and_says_where_the_gates_figures_come_from(stage: Opened) -> None:
    out, err = run("ramp", "staging")
    assert "gates: the stage's log" in err
    moves = out.splitlines()
    assert ["0 %" in moves[0], "10 %" in moves[1], "100 %" in moves[2]] == [True] * 3
    assert stage.api.shares == [(stage.api.uploaded[1].id, 100)]
    assert stage.recorded == ["r-000000000002"]
    assert stage.withdrawn == []
    assert stage.ended == 1


def test_ramp_once_makes_one_move(stage: Opened) -> None:
    found = document("ramp", "staging", "--once")
    assert found["kind"] == "deploy" and len(found["moves"]) == 1
    assert stage.api.shares == [(stage.api.uploaded[0].id, 100), (stage.api.uploaded[1].id, 0)]


def test_a_ramp_that_a_gate_ended_is_exit_code_3_and_the_stage_is_told(stage: Opened) -> None:
    stage.reading = Reading("fail", "errors fail: 9 of 20", "errors")
    with pytest.raises(GateAborted, match="errors fail: 9 of 20") as ended:
        run("ramp", "staging")
    assert ended.value.exit_code == 3
    gone = stage.api.uploaded[1]
    assert stage.withdrawn == [f"{gone.created_on}\n{gone.id}"]
    assert stage.api.shares == [(stage.api.uploaded[0].id, 100)]
    assert stage.recorded == []


def test_rollback_says_which_release_comes_back_and_withdraws_the_other(stage: Opened) -> None:
    run("ramp", "staging")
    found = document("rollback", "staging")
    assert found["back"]["release"] == "r-000000000001" and found["left"]["release"] == "r-000000000002"
    assert stage.api.shares == [(stage.api.uploaded[0].id, 100)]
    assert len(stage.withdrawn) == 1 and stage.recorded[-1] == "r-000000000001"
    assert "by ann" in stage.api.deployed[-1].message


def test_rollback_is_done_also_when_the_stage_can_not_be_told_and_that_is_said(stage: Opened) -> None:
    run("ramp", "staging")
    stage.trouble = "Its controller was not told: no answer."
    out, err = run("rollback", "staging")
    assert "serves all requests again" in out and "not told" in err
    assert stage.api.shares == [(stage.api.uploaded[0].id, 100)]


def test_proof_counts_what_stays(stage: Opened) -> None:
    run("ramp", "staging")
    out, _ = run("proof", "staging")
    assert "(r-000000000001): can come back" in out and "2 of 2 can serve after this change." in out
    found = document("proof", "staging")
    assert [(each["number"], each["serves"], each["stays"]) for each in found["versions"]] == [
        (2, True, True),
        (1, False, True),
    ]


def promoting(monkeypatch: pytest.MonkeyPatch, files: Mapping[str, bytes]) -> list[str]:
    """The checkout would make ``files`` of production; gives the stages that were brought up."""
    brought: list[str] = []
    plan = SimpleNamespace(release=ReleasePlan(False, (100,), 0, 0.02, None))
    settings = SimpleNamespace(ready=lambda: None)
    checked = SimpleNamespace(plan=plan, workspace=None, settings=settings, stage="production")
    modules = [SimpleNamespace(name=name, content=content) for name, content in files.items()]
    monkeypatch.setattr(release, "find_workspace", lambda: None)
    monkeypatch.setattr(release, "check_stage", lambda workspace, stage: checked)
    monkeypatch.setattr(release, "render_stage", lambda plan, workspace: SimpleNamespace(modules=modules))

    def run_up(checked: Any, watch: object, lock_wait: float, force: bool) -> SimpleNamespace:  # noqa: ANN401
        brought.append(checked.stage)
        return SimpleNamespace(changes={"replace": 2}, seconds=1.0)

    monkeypatch.setattr(release, "run_up", run_up)
    return brought


def test_promote_brings_up_the_stage_that_would_run_the_same(stage: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = promoting(monkeypatch, FILES)
    found = document("promote", "staging", "production")
    assert brought == ["production"]
    assert found["digest"].startswith("p-") and found["update"]["changes"] == {"replace": 2}


def test_promote_check_changes_nothing(stage: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = promoting(monkeypatch, FILES)
    assert "update" not in document("promote", "staging", "production", "--check")
    assert brought == []


def test_promote_refuses_another_release_and_says_what_differs(stage: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**FILES, "config.json": json.dumps({"models": {"chat": {"split": [[2, 100]]}}, "release": "r-2"}).encode()}
    brought = promoting(monkeypatch, other)
    with pytest.raises(UserError, match=r"models\.chat\.split"):
        run("promote", "staging", "production")
    assert brought == []


def test_promote_refuses_while_two_versions_serve(stage: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    promoting(monkeypatch, FILES)
    stage.api.deploy([(stage.api.uploaded[0].id, 90), (stage.api.uploaded[1].id, 10)])
    with pytest.raises(UserError, match="no one release") as refused:
        run("promote", "staging", "production")
    assert "release ramp staging" in (refused.value.hint or "")
