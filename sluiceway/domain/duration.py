"""Times as people write them, ``30s``, ``10m``, ``2h``, ``1d``, and as they read them."""

from __future__ import annotations

import re
from typing import Final

from sluiceway.domain.fault import Fault

MINUTE: Final = 60
HOUR: Final = 3_600
DAY: Final = 86_400
LONGEST: Final = 30 * DAY
"""30 days, in seconds."""

_UNITS: Final = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY}
_SHOWN: Final = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (1, "s"))
_WRITTEN: Final = re.compile(r"([0-9]{1,9})([smhd])")


def seconds(value: object) -> int:
    """``"10m"`` -> 600; a whole number is seconds already. A Fault for anything else, and for more than 30 days."""
    found = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if found is not None:
        total = int(found[1]) * _UNITS[found[2]]
    elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        total = value
    else:
        hint = "write a whole number and its unit, like 30s, 10m, 2h or 1d; without a unit it is seconds"
        raise Fault("a time is written like 10m, and is never negative", got=value, hint=hint)
    if total > LONGEST:
        raise Fault("a time is at most 30 days", got=value, hint="write 30d, or less")
    return total


def shown(total: int) -> str:
    """5400 -> ``1 h 30 min``; the two largest units that it has. 0 -> ``0 s``."""
    parts = []
    for size, unit in _SHOWN:
        count, total = divmod(total, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"
