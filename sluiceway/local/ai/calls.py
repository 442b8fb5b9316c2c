"""What was asked of Workers AI lately: tests and people read it at ``/client/v4/_local/ai/calls``.

Held in memory only, since inputs are people's prompts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

Via = Literal["binding", "rest", "gateway", "batch"]
_KEPT = 1000
_KEPT_BYTES = 32 * 1024 * 1024  # of inputs: pictures come as text of megabytes
# Headers that say something about the call; never those that hold a credential.
_SHOWN = ("cf-aig-", "x-session-affinity", "x-request-id", "x-sluiceway-", "cf-consn-")


@dataclass
class Call:
    """One call. ``status``: running, ok, error or cancelled; ``finish_reason`` and ``usage`` when known;
    ``fault``: number of the fault that hit it."""

    seq: int
    at: str
    via: Via
    model: str
    inputs: Mapping[str, Any]
    options: Mapping[str, Any]
    headers: Mapping[str, str]
    streamed: bool = False
    status: str = "running"
    error: str | None = None
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    tokens_sent: int = 0
    log_id: str | None = None
    size: int = 0
    fault: int | None = None

    @property
    def cancelled(self) -> bool:
        return self.status == "cancelled"

    def as_json(self) -> dict[str, Any]:
        return {**self.__dict__, "cancelled": self.cancelled}

    def close(self, status: str, error: str | None = None) -> None:
        """Sets how it ended, once: the first word stands."""
        if self.status == "running":
            self.status = status
            self.error = error


@dataclass
class CallLog:
    """The last calls, oldest first. ``now`` gives UTC."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _calls: deque[Call] = field(default_factory=deque, init=False)
    _seq: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    def open(
        self,
        via: Via,
        model: str,
        inputs: Mapping[str, Any],
        options: Mapping[str, Any],
        headers: Mapping[str, str],
        size: int = 0,
    ) -> Call:
        """``size``: bytes of the request, by which old calls are dropped early when requests are large."""
        self._seq += 1
        shown = {name: value for name, value in headers.items() if name.startswith(_SHOWN)}
        at = self.now().isoformat(timespec="milliseconds")
        streamed = inputs.get("stream") is True
        call = Call(self._seq, at, via, model, inputs, options, shown, streamed=streamed, size=size)
        self._calls.append(call)
        self._bytes += size
        while len(self._calls) > _KEPT or (self._bytes > _KEPT_BYTES and len(self._calls) > 1):
            self._bytes -= self._calls.popleft().size
        return call

    def recent(self, *, limit: int = _KEPT, since: int = 0) -> list[Call]:
        """Calls after number ``since``, the newest ``limit`` of them, oldest first."""
        found = [call for call in self._calls if call.seq > since]
        return found[-limit:] if limit > 0 else []

    def by_log(self, log_id: str) -> Call | None:
        return next((call for call in self._calls if call.log_id == log_id), None)

    def clear(self) -> None:
        self._calls.clear()
        self._bytes = 0
