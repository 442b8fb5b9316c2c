"""Time travel: what served at a moment is what the journal's entries until then say."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from sluiceway.errors import UserError
from sluiceway.rollouts.history import Moment, moments, parse_moment, stamp, weights_text
from sluiceway.rollouts.views import JournalEntry, Split, read
from tests.unit.rollouts.fake_stage import BEGAN, entry

MINUTE = 60_000
NOW = datetime(2026, 11, 2, tzinfo=UTC)


def said(number: int, weights: Split, **changes: object) -> JournalEntry:
    raw = entry(number, f"sentence {number}.", weights=[list(pair) for pair in weights], **changes)
    return read(JournalEntry, raw, "entry")


ONLY_1: Split = ((1, 100),)
CANARY: Split = ((1, 90), (2, 10))
JOURNAL = [
    said(1, ONLY_1, kind="spec", phase="split"),
    said(2, CANARY),
    said(3, CANARY, kind="check"),
    said(4, CANARY, kind="paused", phase="paused"),
    said(5, ONLY_1, kind="rolled-back", phase="rolled-back", cause="gate:errors"),
    said(6, ONLY_1, kind="held", phase="rolled-back"),
]


def at(minutes: float, journal: list[JournalEntry] = JOURNAL) -> list[Moment]:
    return moments(journal, BEGAN + minutes * MINUTE)


def test_before_the_first_entry_nothing_is_known() -> None:
    assert at(0.99) == []


@pytest.mark.parametrize(
    ("minutes", "weights", "because", "last", "until"),
    [
        (1, ONLY_1, 1, 1, 2),
        (2, CANARY, 2, 2, 5),
        (4.5, CANARY, 2, 4, 5),
        (5, ONLY_1, 5, 5, None),
        (99, ONLY_1, 5, 6, None),
    ],
)
def test_what_served_is_told_with_the_entry_that_brought_it(
    minutes: float, weights: Split, because: int, last: int, until: int | None
) -> None:
    (moment,) = at(minutes)
    assert (moment.weights, moment.because.number, moment.last.number) == (weights, because, last)
    assert moment.until == (None if until is None else BEGAN + until * MINUTE)


def test_a_return_to_the_same_weights_has_its_own_reason() -> None:
    (moment,) = at(5)
    assert moment.because.cause == "gate:errors"


def test_entries_in_any_order_and_of_other_models_change_nothing() -> None:
    mixed = [*JOURNAL, said(7, ((3, 100),), model="intent")]
    random.Random(5).shuffle(mixed)
    assert at(4.5, mixed) == at(4.5)
    assert [moment.model for moment in at(99, mixed)] == ["chat", "intent"]


def test_versions_without_traffic_are_no_change_of_who_serves() -> None:
    journal = [said(1, ONLY_1), said(2, ((1, 100), (2, 0)))]
    (moment,) = at(9, journal)
    assert moment.because.number == 1
    assert weights_text("chat", moment.weights) == "chat@1 100 %"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-01T12:00Z", BEGAN),
        ("2026-11-01T13:00+01:00", BEGAN),
        ("2026-11-01T12:00:00.500Z", BEGAN + 500),
        ("12h", BEGAN),
        ("0s", BEGAN + 12 * 60 * MINUTE),
    ],
)
def test_a_moment_is_a_time_with_its_zone_or_how_long_ago(text: str, moment: float) -> None:
    assert parse_moment(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "noon", "2026-11-01T12:00", "2026-11-01", "2026-13-01T00:00Z", "-2h", "2w"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_moment(text, NOW)
    assert caught.value.path == "--at"


def test_a_moment_that_has_not_come_is_refused() -> None:
    with pytest.raises(UserError, match="not come yet"):
        parse_moment((NOW + timedelta(seconds=1)).isoformat(), NOW)


def test_a_stamp_is_in_utc() -> None:
    assert stamp(BEGAN) == "2026-11-01 12:00:00Z"
