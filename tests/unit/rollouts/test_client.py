"""What the client of the rollouts asks and reads."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import httpx
import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.rollouts import views
from sluiceway.rollouts.client import Command, Rollouts
from sluiceway.rollouts.views import document
from tests.unit.rollouts.fake_stage import FakeStage, entry, view

TYPES = Path(__file__).parents[3] / "worker" / "src" / "rollout" / "types.ts"


def test_a_stage_is_read_and_given_on_as_it_was() -> None:
    fake = FakeStage(view("chat"), view("intent", phase="split", strategy=None, until=None, gates=[], steps=[]))
    with fake.admin() as admin:
        stage = Rollouts(admin).stage()
    assert [(model.model, model.running) for model in stage.models] == [("chat", True), ("intent", False)]
    assert document(stage)["models"] == list(fake.views.values())
    assert stage.models[0].gates[0].candidate.rate == 0.01


def test_fields_of_a_newer_gateway_are_passed_over() -> None:
    fake = FakeStage(view("chat", mood="good"))
    with fake.admin() as admin:
        assert Rollouts(admin).model("chat").model == "chat"


def test_an_answer_of_another_shape_is_told_with_its_path() -> None:
    fake = FakeStage(view("chat", weights=[[1, "all"]]))
    with fake.admin() as admin, pytest.raises(SluicewayError, match=r"another way") as caught:
        Rollouts(admin).model("chat")
    assert caught.value.path == "rollouts.chat.weights.0.1"
    assert "all" not in caught.value.message


@pytest.mark.parametrize("command", ["pause", "resume", "promote", "abort", "rollback"])
def test_a_command_says_who_and_what_was_seen(command: Command) -> None:
    fake = FakeStage(view("chat", paused_from="stepping"))
    with fake.admin() as admin:
        told = Rollouts(admin).command("chat", command, actor="ann", reason="why not", expect=7)
    assert told.waiting == f"chat: {command} by ann."
    assert fake.asked == [("POST", f"/rollouts/chat/{command}", {"actor": "ann", "reason": "why not", "expect": 7})]


def test_of_two_who_press_at_once_one_is_refused_and_told_what_to_do() -> None:
    fake = FakeStage()
    with fake.admin() as admin:
        rollouts = Rollouts(admin)
        rollouts.command("chat", "promote", actor="ann", expect=7)
        with pytest.raises(UserError, match="chat has moved on") as caught:
            rollouts.command("chat", "promote", actor="bob", expect=7)
    assert caught.value.hint == "look again: `sluiceway rollout show`"


def test_a_command_without_an_answer_is_not_sent_again() -> None:
    fake = FakeStage()

    def lost(_: FakeStage) -> httpx.Response:
        raise httpx.ReadTimeout("")

    fake.before = lost
    with fake.admin() as admin, pytest.raises(SluicewayError) as caught:
        Rollouts(admin).command("chat", "promote", actor="ann")
    assert len(fake.asked) == 1
    assert "sluiceway rollout list" in (caught.value.hint or "")


def test_the_journal_is_read_to_its_last_page() -> None:
    fake = FakeStage()
    fake.entries = [entry(number, f"{number}.", model="chat" if number % 2 else "intent") for number in range(1, 10)]
    fake.page = 2
    with fake.admin() as admin:
        rollouts = Rollouts(admin)
        assert [one.number for one in rollouts.journal()] == list(range(1, 10))
        assert [one.number for one in rollouts.journal("chat", after=3)] == [5, 7, 9]


def test_a_models_name_stays_one_part_of_the_path() -> None:
    fake = FakeStage(view("a/../b"))
    with fake.admin() as admin:
        assert Rollouts(admin).model("a/../b").model == "a/../b"


SHAPES = {
    "Step": views.Step,
    "GateView": views.GateView,
    "RolloutView": views.RolloutView,
    "JournalEntry": views.JournalEntry,
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_has_the_fields_that_the_gateway_sends(name: str) -> None:
    body = re.search(rf"export interface {name} \{{\n(.*?)\n\}}", TYPES.read_text("utf-8"), re.DOTALL)
    assert body is not None
    sent = {field for field in re.findall(r"^  readonly (\w+)(?!\?)\??:", body[1], re.MULTILINE)}
    optional = set(re.findall(r"^  readonly (\w+)\?:", body[1], re.MULTILINE))
    known = {field.name for field in dataclasses.fields(SHAPES[name])}
    assert known - optional == sent - optional
