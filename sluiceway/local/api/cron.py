"""Cron strings as the platform reads them: five fields, weekdays 1 (Sunday) to 7 (Saturday)."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime

from sluiceway.local.api.errors import ApiError

_MONTHS = {
    name: i
    for i, name in enumerate(("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), 1)
}
_DAYS = {name: i for i, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"], 1)}


@dataclass(frozen=True)
class _Field:
    low: int
    high: int
    names: dict[str, int]
    # Forms that only days know: last (L, 5L), nearest weekday (15W, LW), n-th weekday of the month (2#1).
    special: re.Pattern[str] | None = None


_FIELDS = (
    _Field(0, 59, {}),
    _Field(0, 23, {}),
    _Field(1, 31, {}, re.compile(r"^(L|LW|WL|([1-9]|[12]\d|3[01])W)$")),
    _Field(1, 12, _MONTHS),
    _Field(
        1,
        7,
        _DAYS,
        re.compile(
            r"^(L|(?P<last>[1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)L"
            r"|(?P<nth>[1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)#[1-5])$"
        ),
    ),
)


def check(text: str) -> None:
    """ApiError 10100 unless the platform would take the string."""
    try:
        _parse(text)
    except ValueError as error:
        raise ApiError(400, 10100, "invalid cron string") from error


def due(text: str, minute: datetime) -> bool:
    """Whether the schedule runs in this minute (UTC)."""
    fields = _parse(text)
    values = (minute.minute, minute.hour, minute.day, minute.month, minute.isoweekday() % 7 + 1)
    plain = [value in numbers for value, (numbers, _) in zip(values, fields, strict=True)]
    day = plain[2] or any(_day_of_month(form, minute) for form in fields[2][1])
    weekday = plain[4] or any(_weekday(form, minute) for form in fields[4][1])
    both = [part for part in text.upper().split()[2::2] if part != "*"]
    # Two restricted day fields mean either, one restricted field rules alone.
    days = (day or weekday) if len(both) == 2 else (day and weekday)
    return plain[0] and plain[1] and plain[3] and days


def _parse(text: str) -> list[tuple[frozenset[int], tuple[str, ...]]]:
    parts = text.upper().split()
    if len(parts) != len(_FIELDS):
        raise ValueError(text)
    return [_field(part, field) for part, field in zip(parts, _FIELDS, strict=True)]


def _field(part: str, field: _Field) -> tuple[frozenset[int], tuple[str, ...]]:
    numbers: set[int] = set()
    special: list[str] = []
    for item in part.split(","):
        if field.special and field.special.match(item):
            special.append(item)
        else:
            numbers |= _item(item, field)
    return frozenset(numbers), tuple(special)


def _item(item: str, field: _Field) -> set[int]:
    span, slash, step_text = item.partition("/")
    step = _number(step_text, {}) if slash else 1
    if step < 1:
        raise ValueError(item)
    if span == "*":
        low, high = field.low, field.high
    else:
        first, dash, last = span.partition("-")
        low = _number(first, field.names)
        high = _number(last, field.names) if dash else (field.high if slash else low)
    if not field.low <= low <= high <= field.high:
        raise ValueError(item)
    return set(range(low, high + 1, step))


def _number(text: str, names: dict[str, int]) -> int:
    if text in names:
        return names[text]
    if not re.fullmatch(r"\d{1,2}", text):
        raise ValueError(text)
    return int(text)


def _day_of_month(form: str, minute: datetime) -> bool:
    last = calendar.monthrange(minute.year, minute.month)[1]
    if form == "L":
        return minute.day == last
    wanted = last if form in ("LW", "WL") else min(int(form[:-1]), last)
    return minute.day == _nearest_weekday(minute, wanted, last)


def _nearest_weekday(minute: datetime, day: int, last: int) -> int:
    weekday = minute.replace(day=day).isoweekday()
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 7:
        return day + 1 if day < last else day - 2
    return day


def _weekday(form: str, minute: datetime) -> bool:
    today = minute.isoweekday() % 7 + 1
    if form == "L":
        return today == 7
    if form.endswith("L"):
        last = calendar.monthrange(minute.year, minute.month)[1]
        return today == _number(form[:-1], _DAYS) and minute.day > last - 7
    name, _, nth = form.partition("#")
    return today == _number(name, _DAYS) and (minute.day - 1) // 7 + 1 == int(nth)
