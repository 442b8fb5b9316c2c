"""When a call is made again, and after how long: as Cloudflare's own clients do it.

These try a call anew after 408, 429 and 5xx and when no answer came, wait half a second, twice as long each time and at
most eight seconds, a little less by chance, and do what the server says where it asks for up to a minute. They also
repeat a 409; here it is final, since it says that a thing is there, or in use, and that won't change by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

RETRIES = 3
FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 0.5, 8.0, 60.0
"""Seconds: before the first retry, between later ones, and what a server may ask for."""
_JITTER = 0.25


@dataclass(frozen=True)
class Verdict:
    """Of a call that failed. ``wait``: seconds until it may be made again, None for never; ``unsure``: it may have
    been carried out all the same."""

    wait: float | None
    unsure: bool


def of_answer(status: int, headers: Mapping[str, str], attempt: int, chance: float) -> Verdict:
    """``attempt`` counts from 0; ``chance`` is from 0 to 1."""
    unsure = status == 408 or status >= 500
    told = headers.get("x-should-retry")
    if attempt >= RETRIES or told == "false" or not (told == "true" or unsure or status == 429):
        return Verdict(None, unsure)
    asked = _asked(headers)
    if asked is None:
        return Verdict(_wait(attempt, chance), unsure)
    return Verdict(asked if asked <= LONGEST_ASKED else None, unsure)


def of_silence(error: httpx.TransportError, attempt: int, chance: float, *, here: bool) -> Verdict:
    """``here``: the API is on this machine, where nobody comes to listen on a port by being waited for."""
    import httpx

    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    tries = 1 if here and isinstance(error, httpx.ConnectError) else RETRIES
    return Verdict(None if attempt >= tries else _wait(attempt, chance), not unsent)


def asked_too_much(headers: Mapping[str, str]) -> float | None:
    """The seconds for which a server wants to be left alone, where these are more than anybody waits here."""
    asked = _asked(headers)
    return asked if asked is not None and asked > LONGEST_ASKED else None


def _wait(attempt: int, chance: float) -> float:
    return float(min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)) * (1 - _JITTER * chance)


def _asked(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if seconds > 0:
            return seconds
    return None
