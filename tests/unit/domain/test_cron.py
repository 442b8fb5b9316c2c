from __future__ import annotations

import pytest

from sluiceway.domain import cron
from sluiceway.domain.fault import Fault
from tests.contract.cron import texts

FIELDS = "the fields are, in this order: minute, hour, day of the month, month, day of the week"
STRAY = "take the comma, minus or slash out that has nothing beside it"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("* * * * *", "* * * * *"),
        ("*/15 * * * *", "0,15,30,45 * * * *"),
        ("0 16 * * SUN", "0 16 * * 1"),
        ("0 16 * * sun", "0 16 * * 1"),
        ("0 9 * * MON-FRI", "0 9 * * 2,3,4,5,6"),
        ("0 0 1 jan *", "0 0 1 1 *"),
        ("5/20 0 L * *", "5,25,45 0 L * *"),
        ("0 0 LW * *", "0 0 LW * *"),
        ("0 0 WL * *", "0 0 LW * *"),
        ("0 0 15W * *", "0 0 15W * *"),
        ("0 0 * * FRIL", "0 0 * * 6L"),
        ("0 0 * * mon#2", "0 0 * * 2#2"),
        ("0-59 0-23 1-31 1-12 1-7", "* * * * *"),
        ("3,1,2 * * * *", "1,2,3 * * * *"),
        ("  0   0  * * *  ", "0 0 * * *"),
    ],
)
def test_one_meaning_has_one_canonical_text(text: str, canonical: str) -> None:
    assert cron.parse(text).canonical == canonical


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "0 16 * * 0",
            "the day of the week of a cron is 1 to 7 or SUN to SAT, not '0'",
            "Cloudflare counts days 1 to 7 from Sunday: write SUN for Sunday",
        ),
        ("0 0 * * 8", "the day of the week of a cron is 1 to 7 or SUN to SAT, not '8'", FIELDS),
        ("60 * * * *", "the minute of a cron is 0 to 59, not '60'", FIELDS),
        ("* 24 * * *", "the hour of a cron is 0 to 23, not '24'", FIELDS),
        ("* * 0 * *", "the day of the month of a cron is 1 to 31, not '0'", FIELDS),
        ("* * 32W * *", "the day of the month of a cron is 1 to 31, not '32W'", FIELDS),
        ("* * * 13 *", "the month of a cron is 1 to 12 or JAN to DEC, not '13'", FIELDS),
        ("* * * MONDAY *", "the month of a cron is 1 to 12 or JAN to DEC, not 'MONDAY'", FIELDS),
        (
            "*/0 * * * *",
            "a step in the minute of a cron is a whole number above 0, not '*/0'",
            "write it like */5, or leave the slash out",
        ),
        (
            "30-10 * * * *",
            "a range in the minute of a cron goes upwards, not '30-10'",
            "write two, joined by a comma: 30-59,0-10",
        ),
        (", * * * *", "the minute of a cron is 0 to 59, not ''", STRAY),
        ("-5 * * * *", "the minute of a cron is 0 to 59, not ''", STRAY),
        ("１ * * * *", "the minute of a cron is 0 to 59, not '１'", FIELDS),
        ("@daily", "a cron has five fields", "minute, hour, day of the month, month, day of the week"),
        (
            "0 0 16 * * SUN",
            "a cron has five fields",
            "drop the seconds: minute, hour, day of the month, month, day of the week",
        ),
    ],
)
def test_wr_04_what_cloudflare_would_refuse_after_the_upload_is_refused_here(
    text: str, message: str, hint: str
) -> None:
    with pytest.raises(Fault) as caught:
        cron.parse(text)
    assert (caught.value.message, caught.value.got, caught.value.hint) == (message, text, hint)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0 9 * * 1-5", "Cloudflare reads 1-5 as SUN-THU, other crons as MON-FRI: write the one you mean"),
        ("0 9 * * 7", "Cloudflare reads 7 as SAT, other crons as SUN: write the one you mean"),
        ("0 9 * * 2,4", "Cloudflare reads 2,4 as MON,WED, other crons as TUE,THU: write the one you mean"),
        ("0 9 * * 2#1", "Cloudflare reads 2#1 as MON#1, other crons as TUE#1: write the one you mean"),
    ],
)
def test_wr_04_a_day_by_number_is_refused_with_both_readings(text: str, hint: str) -> None:
    with pytest.raises(Fault) as caught:
        cron.check(text)
    assert caught.value.message == "days of the week are written by name, since numbers differ between crons"
    assert caught.value.hint == hint


@pytest.mark.parametrize("text", ["0 16 * * SUN", "0 9 * * MON-FRI", "*/5 * * * *", "0 0 * * */2", "0 0 * * FRI#3"])
def test_a_cron_by_name_passes_as_it_is(text: str) -> None:
    assert cron.check(text) == text


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("0 16 * * SUN", "0 16 * * 1", True),
        ("0 9 * * MON-FRI", "0 9 * * 2-6", True),
        ("*/30 * * * *", "0,30 * * * *", True),
        ("0 16 * * SUN", "0 16 * * 7", False),
    ],
)
def test_wr_04_schedules_are_compared_by_meaning(one: str, other: str, expected: bool) -> None:
    assert cron.same(one, other) is expected


@pytest.mark.parametrize("text", texts("taken"))
def test_wr_04_what_the_platform_takes_is_read(text: str) -> None:
    assert cron.same(text, text.lower())


@pytest.mark.parametrize("text", texts("refused"))
def test_wr_04_what_the_platform_refuses_is_refused(text: str) -> None:
    with pytest.raises(Fault):
        cron.parse(text)
