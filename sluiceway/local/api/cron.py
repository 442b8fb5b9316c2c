"""Cron strings as the platform reads them: five fields, weekdays 1 (Sunday) to 7 (Saturday).

Only whether a string is taken is decided here; the data plane (`local/host/cron.ts`) knows when it is due.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sluiceway.local.api.errors import ApiError

_MONTHS = {
    name: i
    for i, name in enumerate(("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), 1)
}
_DAYS = {name: i for i, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"], 1)}
_DAY = f"(?:[1-7]|{'|'.join(_DAYS)})"


@dataclass(frozen=True)
class _Field:
    low: int
    high: int
    names: dict[str, int]
    # Forms that only days know: last (L, 5L), nearest weekday (15W, LW), n-th weekday of the month (2#1).
    special: str = "(?!)"


_FIELDS = (
    _Field(0, 59, {}),
    _Field(0, 23, {}),
    _Field(1, 31, {}, "L|LW|WL|([1-9]|[12][0-9]|3[01])W"),
    _Field(1, 12, _MONTHS),
    _Field(1, 7, _DAYS, f"L|{_DAY}L|{_DAY}#[1-5]"),
)


def check(text: str) -> None:
    """ApiError 10100 unless the platform would take the string."""
    parts = text.upper().split()
    if len(parts) != len(_FIELDS) or not all(
        re.fullmatch(field.special, item) or _is_span(item, field)
        for part, field in zip(parts, _FIELDS, strict=True)
        for item in part.split(",")
    ):
        raise ApiError(400, 10100, "invalid cron string")


def _is_span(item: str, field: _Field) -> bool:
    """``*``, ``5`` or ``5-10``, each perhaps with a step: ``*/15``."""
    span, slash, step = item.partition("/")
    if slash and not _number(step, {}):
        return False
    if span == "*":
        return True
    first, dash, last = span.partition("-")
    low = _number(first, field.names)
    high = _number(last, field.names) if dash else low
    return low is not None and high is not None and field.low <= low <= high <= field.high


def _number(text: str, names: dict[str, int]) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,2}", text) else names.get(text)
