"""Events that come when they come, for a reader that looks when it likes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from sluiceway.observe.events import Event

_MOST_WAITING = 200_000


class Feed:
    """Reads ``events`` in a thread. What the source raises is raised by ``drain``."""

    def __init__(self, events: Iterator[Event], stop: Callable[[], None] = lambda: None) -> None:
        self._waiting: queue.Queue[Event] = queue.Queue(_MOST_WAITING)
        self._fault: BaseException | None = None
        self._stop = stop
        self._thread = threading.Thread(target=self._read, args=(events,), daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """The source has no more, and all that it gave was taken."""
        return not self._thread.is_alive() and self._waiting.empty()

    def drain(self) -> list[Event]:
        """What has come since the last look. Raises what the source raised, once all before it was taken."""
        found: list[Event] = []
        while True:
            try:
                found.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        if not found and self._fault is not None:
            raise self._fault
        return found

    def close(self) -> None:
        self._stop()
        self._thread.join(5)

    def _read(self, events: Iterator[Event]) -> None:
        try:
            for event in events:
                self._waiting.put(event)
        except BaseException as fault:
            self._fault = fault
