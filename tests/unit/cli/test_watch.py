import io
from dataclasses import replace

import pytest

from sluiceway.cli.watch import Watch, count_line
from sluiceway.engine.automation import Result
from sluiceway.engine.automation_events import Message, Phase, Step
from sluiceway.progress import Progress


def step(phase: Phase, op: str, name: str, changed: tuple[str, ...] = ()) -> Step:
    return Step(phase, op, "cloudflare:index/workerVersion:WorkerVersion", name, f"urn::{name}", changed)


def watch(operation: str, quiet: bool = False) -> tuple[Watch, io.StringIO]:
    out = io.StringIO()
    return Watch(operation, "dev", quiet=quiet, progress=Progress(out, clock=lambda: 0.0)), out


REPLACEMENT = [
    step("begun", "create-replacement", "version", ("modules",)),
    step("done", "create-replacement", "version"),
    step("done", "replace", "version"),
    step("done", "delete-replaced", "version"),
]


def test_a_replacement_is_told_once_with_what_differs() -> None:
    watched, out = watch("up")
    for event in REPLACEMENT:
        watched.on_event(event)
    assert out.getvalue() == "  replaced  WorkerVersion version\n"
    assert watched.summary() == ["  replace  WorkerVersion version  [modules]"]
    assert [row["op"] for row in watched.steps_json()] == ["replace"]


def test_a_failure_is_told_and_what_stays_the_same_is_not() -> None:
    watched, out = watch("up")
    watched.on_event(step("done", "same", "quiet"))
    watched.on_event(step("failed", "create", "queue"))
    assert out.getvalue() == "  FAILED    WorkerVersion queue\n"


@pytest.mark.parametrize("token", ["pulumi:pulumi:Stack", "pulumi:providers:cloudflare"])
def test_the_engines_own_entries_are_no_news_unless_they_fail(token: str) -> None:
    watched, out = watch("up")
    own = replace(step("done", "update", "default"), type=token)
    watched.on_event(own)
    assert (out.getvalue(), watched.summary()) == ("", [])
    watched.on_event(replace(own, phase="failed"))
    assert "FAILED" in out.getvalue()


def test_with_json_nothing_is_said_but_all_is_kept() -> None:
    watched, out = watch("up", quiet=True)
    events: list[Step | Message] = [*REPLACEMENT, Message("warning", "careful", "")]
    for event in events:
        watched.on_event(event)
    assert out.getvalue() == ""
    assert len(watched.steps_json()) == 1


RESULT = Result("up", {"same": 3, "create": 1, "replace": 2}, {}, 4.2)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (RESULT, "3 changes (1 created, 2 replaced), 3 unchanged, in 4.2 s"),
        (replace(RESULT, changes={"same": 5}), "0 changes, 5 unchanged, in 4.2 s"),
        (replace(RESULT, changes={"update": 1}), "1 change (1 updated), 0 unchanged, in 4.2 s"),
        (replace(RESULT, operation="preview", changes={"create": 2}), "2 changes (2 to create), 0 unchanged, in 4.2 s"),
    ],
)
def test_the_last_line_counts(result: Result, line: str) -> None:
    assert count_line(result) == line
