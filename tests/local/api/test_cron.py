"""Cron strings as the platform reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sluiceway.local.api import cron
from sluiceway.local.api.errors import ApiError


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/5 0-6 1,15 JAN-MAR mon-fri",
        "0 9 L * *",
        "0 9 LW * *",
        "0 9 15W * *",
        "0 9 * * 5L",
        "0 9 * * MON#2",
    ],
)
def test_wr_04_what_the_platform_takes_is_taken(text: str) -> None:
    cron.check(text)


@pytest.mark.parametrize(
    "text",
    ["0 16 * * 0", "0 16 * * 8", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "0 0 0 * * *", "* * * *", "",
     "*/0 * * * *", "5-1 * * * *", "a * * * *", "0 0 * * FRI-MON", "-1 * * * *", "1, * * * *"],
)  # fmt: skip
def test_wr_04_what_the_platform_refuses_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        cron.check(text)
    assert (refused.value.status, refused.value.code) == (400, 10100)


@pytest.mark.parametrize(
    ("text", "moment", "runs"),
    [
        ("0 9 * * 1", "2026-11-29T09:00", True),  # a Sunday
        ("0 9 * * 1", "2026-11-30T09:00", False),
        ("0 9 * * SUN", "2026-11-29T09:00", True),
        ("*/15 * * * *", "2026-11-30T10:45", True),
        ("*/15 * * * *", "2026-11-30T10:46", False),
        ("0 0 L * *", "2026-02-28T00:00", True),
        ("0 0 LW * *", "2026-05-29T00:00", True),
        ("0 0 15W * *", "2026-11-16T00:00", True),
        ("0 0 * * 6L", "2026-11-27T00:00", True),
        ("0 0 * * FRI#1", "2026-11-06T00:00", True),
        ("0 0 * * FRI#1", "2026-11-13T00:00", False),
        ("0 0 13 * FRI", "2026-11-06T00:00", True),
        ("0 0 13 * *", "2026-11-06T00:00", False),
        ("0 0 1 DEC *", "2026-12-01T00:00", True),
    ],
)
def test_a_schedule_runs_in_its_minutes(text: str, moment: str, runs: bool) -> None:
    assert cron.due(text, datetime.fromisoformat(moment).replace(tzinfo=UTC)) is runs
