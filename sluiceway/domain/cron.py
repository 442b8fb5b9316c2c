"""Cron as Cloudflare reads it: five fields, UTC, and days of the week 1 to 7 from Sunday.

Other crons count days 0 to 6 from Sunday, so a number there is a day off or refused after the
upload. ``parse`` takes what Cloudflare takes; ``check`` is for what people write, and wants names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sluiceway.domain.fault import Fault

DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
ORDER: Final = "minute, hour, day of the month, month, day of the week"
MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    special: str = r"(?!)"

    def number(self, text: str) -> int:
        if text.upper() in self.names:
            return self.names.index(text.upper()) + self.low
        if not re.fullmatch(r"[0-9]{1,2}", text) or not self.low <= int(text) <= self.high:
            names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
            hint = f"the fields are, in this order: {ORDER}"
            if not text:
                hint = "take the comma, minus or slash out that has nothing beside it"
            elif self.names is DAYS and text == "0":
                hint = "Cloudflare counts days 1 to 7 from Sunday: write SUN for Sunday"
            raise Fault(f"the {self.name} of a cron is {self.low} to {self.high}{names}", got=text, hint=hint)
        return int(text)

    def word(self, number: int) -> str:
        return self.names[number - self.low] if self.names else str(number)


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31, special=r"L|LW|WL|([1-9]|[12][0-9]|3[01])W"),
    _Field("month", 1, 12, MONTHS),
    _Field("day of the week", 1, 7, DAYS, special=r"L|[1-7A-Z]+L|[1-7A-Z]+#[1-5]"),
)


@dataclass(frozen=True)
class Cron:
    """A parsed schedule. Two spellings of one meaning have the same ``canonical`` text."""

    canonical: str


def parse(text: str) -> Cron:
    """Reads what Cloudflare accepts; a Fault says which field is wrong."""
    parts = text.split()
    if len(parts) != 5:
        six = "drop the seconds: " if len(parts) == 6 else ""
        raise Fault("a cron has five fields", got=text, hint=f"{six}{ORDER}")
    try:
        return Cron(" ".join(_canonical(field, part) for field, part in zip(_FIELDS, parts, strict=True)))
    except Fault as fault:
        raise Fault(f"{fault.message}, not {fault.got!r}", got=text, hint=fault.hint) from None


def same(one: str, other: str) -> bool:
    """Whether two spellings mean the same schedule, e.g. ``0 16 * * SUN`` and ``0 16 * * 1``."""
    return parse(one) == parse(other)


def check(text: str) -> str:
    """``text`` when it can be meant in one way only: as ``parse``, and days of the week by name."""
    parse(text)
    day = text.split()[4]
    digits = re.sub(r"[/#][0-9]+", "", day)  # a step or an occurrence is a count, not a day
    if re.search(r"[0-9]", digits):
        here = re.sub(r"[0-9]", lambda found: DAYS[int(found[0]) - 1], digits)
        elsewhere = re.sub(r"[0-9]", lambda found: DAYS[int(found[0]) % 7], digits)
        tail = day[len(digits) :] if day.startswith(digits) else ""
        raise Fault(
            "days of the week are written by name, since numbers differ between crons",
            got=text,
            hint=f"Cloudflare reads {day} as {here}{tail}, other crons as {elsewhere}{tail}: write the one you mean",
        )
    return text


def _canonical(field: _Field, text: str) -> str:
    numbers: set[int] = set()
    special: set[str] = set()
    for item in text.upper().split(","):
        if re.fullmatch(field.special, item):
            special.add(_special(field, item))
        else:
            numbers |= _numbers(field, item)
    if len(numbers) == field.high - field.low + 1 and not special:
        return "*"
    return ",".join([*(str(number) for number in sorted(numbers)), *sorted(special)])


def _special(field: _Field, item: str) -> str:
    if field.names is not DAYS:
        return "LW" if item == "WL" else item
    if item == "L":
        return "L"
    if "#" in item:
        day, _, nth = item.partition("#")
        return f"{field.number(day)}#{nth}"
    return f"{field.number(item[:-1])}L"


def _numbers(field: _Field, item: str) -> set[int]:
    span, slash, step_text = item.partition("/")
    step = 1
    if slash:
        if not re.fullmatch(r"[1-9][0-9]?", step_text):
            hint = f"write it like {span or '*'}/{min(5, field.high)}, or leave the slash out"
            raise Fault(f"a step in the {field.name} of a cron is a whole number above 0", got=item, hint=hint)
        step = int(step_text)
    first, dash, last = span.partition("-")
    if span == "*":
        low, high = field.low, field.high
    elif dash:
        low, high = field.number(first), field.number(last)
    else:
        low = field.number(span)
        high = field.high if slash else low
    if low > high:
        spans = ((low, field.high), (field.low, high))
        hint = "write two, joined by a comma: " + ",".join(f"{field.word(a)}-{field.word(b)}" for a, b in spans)
        raise Fault(f"a range in the {field.name} of a cron goes upwards", got=item, hint=hint)
    return set(range(low, high + 1, step))
