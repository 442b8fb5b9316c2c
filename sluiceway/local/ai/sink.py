"""What Workers say about themselves: analytics points, logs and exceptions, as the host forwards them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

_KEPT = 5000
_KEPT_CHARACTERS = 16 * 1024 * 1024  # a Worker may log megabytes


class EventSink:
    """Appends each event as a line of JSON through ``write``, and keeps the last ones in memory.

    Events get ``seq`` (1, 2, ... since the stage started) and ``at`` (UTC).
    """

    def __init__(self, write: Callable[[str], None], now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._write = write
        self._now = now
        self._events: deque[dict[str, Any]] = deque()
        self._lengths: deque[int] = deque()
        self._characters = 0
        self._seq = 0

    def add(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            self._seq += 1
            kept = {"seq": self._seq, "at": self._now().isoformat(timespec="milliseconds"), **event}
            line = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
            self._write(line)
            self._keep(kept, len(line))

    def _keep(self, event: dict[str, Any], length: int) -> None:
        self._events.append(event)
        self._lengths.append(length)
        self._characters += length
        while len(self._events) > _KEPT or (self._characters > _KEPT_CHARACTERS and len(self._events) > 1):
            self._events.popleft()
            self._characters -= self._lengths.popleft()

    def recent(self, *, kind: str | None = None, since: int = 0, limit: int = _KEPT) -> list[dict[str, Any]]:
        """Events after number ``since``, of one ``kind`` if given, the newest ``limit``, oldest first."""
        found = [event for event in self._events if event["seq"] > since and kind in (None, event.get("kind"))]
        return found[-limit:] if limit > 0 else []

    @property
    def last_seq(self) -> int:
        return self._seq


def parse_events(body: bytes) -> list[dict[str, Any]]:
    """Reads an object, a list of objects, or one object a line; ValueError for anything else."""
    text = body.decode("utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    events = found if isinstance(found, list) else [found]
    if not all(isinstance(event, dict) for event in events):
        raise ValueError("events are JSON objects")
    return events
