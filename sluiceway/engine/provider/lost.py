"""Versions and deployments whose answer was lost: what was made just now, and is what was asked for.

A second one would be no error, only one too many. It can be told from older ones of the same content, among them those
with another secret, only by its time, which is the server's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from sluiceway.engine.provider.values import Value

if TYPE_CHECKING:
    import httpx

_SLACK = 2.0
"""Seconds: a Date header has whole ones, and the thing was stamped on another machine."""


def fresh(answer: httpx.Response, items: Iterable[Value], since: float) -> list[Value]:
    """Those of ``items`` that were made in the last ``since`` seconds before ``answer``, newest first."""
    try:
        now = parsedate_to_datetime(answer.headers["date"])
    except (KeyError, ValueError):
        return []
    start = now - timedelta(seconds=since + _SLACK)
    stamped = [(_time(item), item) for item in items]
    kept = [(at, item) for at, item in stamped if at is not None and at >= start]
    return [item for _, item in sorted(kept, key=lambda pair: pair[0], reverse=True)]


def _time(item: Value) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(item.get("created_on")))
    except ValueError:
        return None
    return at if at.tzinfo else None
