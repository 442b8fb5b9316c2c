"""The screen of ``sluiceway rollout watch``."""

from __future__ import annotations

from sluiceway.cli.rollout_view import as_text, screen
from sluiceway.rollouts.views import JournalEntry, RolloutView, read
from tests.unit.rollouts.fake_stage import BEGAN, entry, view

VIEW = read(RolloutView, view(), "view")
EVENTS = [read(JournalEntry, entry(number, f"event {number}."), "entry") for number in range(1, 40)]


def test_the_clock_counts_down_and_stops_at_nothing() -> None:
    for now, left in ((BEGAN, "10 min 00 s left"), (BEGAN + 599_900, "1.0 s left")):
        assert left in as_text(screen("dev", [VIEW], [], now))
    assert " left" not in as_text(screen("dev", [VIEW], [], BEGAN + 600_000))


def test_events_take_the_place_that_is_left_the_newest_last() -> None:
    lines = as_text(screen("dev", [VIEW], EVENTS, BEGAN, height=24)).splitlines()
    assert len(lines) <= 24
    assert "event 39." in lines[-1]
    few = as_text(screen("dev", [VIEW], EVENTS, BEGAN, height=5)).splitlines()
    assert sum("event" in line for line in few) == 4


def test_a_gateway_that_does_not_answer_is_said_on_the_screen() -> None:
    assert "no answer for 12 s" in as_text(screen("dev", [VIEW], EVENTS, BEGAN, silent_s=12))
    assert "no answer" not in as_text(screen("dev", [VIEW], EVENTS, BEGAN))


def test_a_sentence_that_takes_more_lines_leaves_fewer_for_events() -> None:
    long = read(RolloutView, view(waiting="chat: " + "waits " * 40), "view")
    lines = as_text(screen("dev", [long], EVENTS, BEGAN, height=24, width=80), 80).splitlines()
    assert len(lines) <= 24
    assert "event 39." in lines[-1]
