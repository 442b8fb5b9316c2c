"""Tail events of Workers -> requests and failures of the gateway.

One reader for both: what the local stage writes to its log has the fields of what ``wrangler tail`` prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_GONE = ("client_disconnected",)
_HEALTH = ("/healthz", "/readyz")
_ADMIN = "/_sluiceway/"


@dataclass(frozen=True)
class Request:
    """One request that the gateway has logged. ``at`` in seconds since the epoch, ``*_ms`` in milliseconds.

    ``line`` is the log line as it came.
    """

    at: float
    line: Mapping[str, object]
    status: int
    model: str | None
    variant: str | None
    path: str
    error: str | None
    total_ms: float
    ttft_ms: float | None
    tokens: int
    cost_usd: float
    cache: str | None
    fallback: str | None
    retries: int

    @property
    def left(self) -> bool:
        """The client went before it had its answer."""
        return self.error in _GONE

    @property
    def failed(self) -> bool:
        """The gateway or the model failed: a 5xx, the model's own limit, or a stream that broke off."""
        upstream = self.error is not None and (self.status < 400 or self.error.startswith("upstream_"))
        return not self.left and (self.status >= 500 or upstream)

    @property
    def refused(self) -> bool:
        """The caller was told no: a 4xx."""
        return not self.left and 400 <= self.status < 500 and not self.failed

    @property
    def measured(self) -> bool:
        """Whether it counts as traffic: health, its owner's calls, preflights and probes do not."""
        by_owner = self.path.startswith(_ADMIN) or self.path in _HEALTH
        return not by_owner and self.line.get("method") != "OPTIONS" and self.line.get("via") != "probe"


@dataclass(frozen=True)
class Failure:
    """Something that is no request's answer: an exception with its place, a Worker that the platform ended.

    ``at`` in seconds since the epoch; ``places`` are the frames of the stack, innermost first.
    """

    at: float
    what: str
    request_id: str | None
    places: tuple[str, ...]
    document: Mapping[str, object]


Event = Request | Failure


def events(document: object) -> Iterator[Event]:
    """The events in one tail document, in order; none for what is not of the gateway's making."""
    if not isinstance(document, dict):
        return
    at = _number(document.get("timestamp", document.get("eventTimestamp"))) / 1000
    for entry in _list(document.get("logs")):
        found = _logged(entry, at)
        if found:
            yield found
    for thrown in _list(document.get("exceptions")):
        if isinstance(thrown, dict):
            # Its message is left out: it may quote the prompt.
            yield Failure(at, f"uncaught {thrown.get('name', 'exception')}", None, _frames(thrown.get("stack")), thrown)
    outcome = document.get("outcome")
    if isinstance(outcome, str) and outcome not in ("ok", "canceled", "exception", "responseStreamDisconnected"):
        yield Failure(at, f"the platform ended it: {outcome}", None, (), {"outcome": outcome})


def _logged(entry: object, at: float) -> Event | None:
    if not isinstance(entry, dict):
        return None
    line = _line(entry.get("message"))
    if line is None:
        return None
    # The line is written at the end, the event's own time is its beginning.
    at = _number(entry.get("timestamp")) / 1000 or at
    if line.get("event") == "request":
        return _request(line, at)
    if line.get("event") == "exception":
        frames = tuple(str(frame).strip() for frame in _list(line.get("frames")))
        identity = line.get("id")
        return Failure(
            at, f"exception {line.get('name', '')}".rstrip(), str(identity) if identity else None, frames, line
        )
    if line.get("level") in ("warn", "error"):
        words = " ".join(str(line[key]) for key in ("event", "what", "reason") if line.get(key))
        return Failure(at, words, None, (), line)
    return None


def _line(message: object) -> dict[str, object] | None:
    """A log's message is a list of what was logged; the gateway logs one text, which is one JSON object."""
    first = message[0] if isinstance(message, list) and message else message
    if not isinstance(first, str) or not first.startswith("{"):
        return None
    try:
        line = json.loads(first)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _request(line: dict[str, object], at: float) -> Request:
    model, version = _text(line.get("model")), line.get("version")
    ttft = line.get("ttft_ms")
    return Request(
        at=at,
        line=line,
        status=int(_number(line.get("status"))),
        model=f"{model}@{version}" if model else None,
        variant=_text(line.get("variant")),
        path=_text(line.get("path")) or "",
        error=_text(line.get("error")),
        total_ms=_number(line.get("total_ms")),
        ttft_ms=None if ttft is None else _number(ttft),
        tokens=int(_number(line.get("prompt_tokens")) + _number(line.get("completion_tokens"))),
        cost_usd=_number(line.get("cost_usd")),
        cache=_text(line.get("cache")),
        fallback=_text(line.get("fallback")),
        retries=int(_number(line.get("retries"))),
    )


def _frames(stack: object) -> tuple[str, ...]:
    lines = stack.splitlines() if isinstance(stack, str) else []
    return tuple(line.strip() for line in lines if line.lstrip().startswith("at "))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
