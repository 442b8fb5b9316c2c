"""``sluiceway logs STAGE``: a stage's requests and failures, one a line."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from sluiceway.cli.context import check_stage, find_workspace
from sluiceway.cli.observing import observed
from sluiceway.cli.output import JsonFlag, StageArgument, nap, print_json, print_text
from sluiceway.domain.stage import LOCAL
from sluiceway.observe.events import Event, Failure, Request
from sluiceway.observe.source_map import Places


def register(app: typer.Typer) -> None:
    app.command("logs")(logs)


def logs(
    stage: StageArgument,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many of the last ones.")] = 100,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on as requests come.")] = False,
    errors: Annotated[bool, typer.Option("--errors", help="Only what failed or was refused.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print STAGE's requests: who answered, how fast, at what cost. With -f, --json prints one object a line."""
    checked = check_stage(find_workspace(), stage)
    sources = Places(checked.workspace.build(stage) / "dist", checked.workspace.root)
    out = Lines(lines, sources, as_json, live=stage != LOCAL)
    for event in observed(checked, follow=follow, rest=out.rest):
        if not errors or is_error(event):
            out.take(event)
    out.end(follow)


class Lines:
    """Prints events: the last ``count`` of what was, then each as it comes. ``live``: there is no past."""

    def __init__(self, count: int, sources: Places, as_json: bool, *, live: bool) -> None:
        self._last: deque[Event] = deque(maxlen=count)
        self._sources = sources
        self._json = as_json
        self._live = live

    def take(self, event: Event) -> None:
        if self._live:
            self._print(event)
        else:
            self._last.append(event)

    def rest(self, seconds: float) -> None:
        """There is nothing new: if that is so for the first time, all of the past has been taken."""
        self._show_last()
        nap(seconds)

    def end(self, follow: bool) -> None:
        if self._json and not follow:
            print_json([as_object(self._told(event)) for event in self._last])
        else:
            self._show_last()

    def _show_last(self) -> None:
        if not self._live:
            for event in self._last:
                self._print(event)
            self._live = True

    def _print(self, event: Event) -> None:
        told = self._told(event)
        print_text(json.dumps(as_object(told), ensure_ascii=False) if self._json else as_text(told))

    def _told(self, event: Event) -> Event:
        return replace(event, places=self._sources.of(event)) if isinstance(event, Failure) else event


def is_error(event: Event) -> bool:
    """A failure, or a request that failed or was refused; not one whose client left."""
    return isinstance(event, Failure) or event.failed or event.refused


def as_object(event: Event) -> dict[str, object]:
    """The log line as the gateway wrote it, with its time as ``at``."""
    at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")
    if isinstance(event, Request):
        return {"at": at, **event.line}
    return {"at": at, "event": "failure", "what": event.what, "id": event.request_id, "places": list(event.places)}


def as_text(event: Event) -> str:
    """One line a request; a failure has its places below it. Nothing in it moves the cursor."""
    at = datetime.fromtimestamp(event.at).strftime("%H:%M:%S.%f")[:-3]
    if isinstance(event, Failure):
        first = " ".join(word for word in (at, "!!!", event.what, event.request_id) if word)
        return "\n".join(_plain(line) for line in (first, *(f"      {place}" for place in event.places)))
    return _plain(" ".join(word for word in (at, *_words(event)) if word))


def _words(request: Request) -> list[str]:
    line = request.line
    who = f"{request.model:<12} {request.variant or '':<9}" if request.model else f"{line.get('method')} {request.path}"
    first = "" if request.ttft_ms is None else f"(first {request.ttft_ms:.0f})"
    words = [str(request.status), who, f"{request.total_ms:>6.0f} ms", first]
    if request.tokens:
        words.append(f"{line.get('prompt_tokens')}+{line.get('completion_tokens')} tokens")
    if request.cost_usd:
        words.append(money(request.cost_usd))
    named = {
        "route": line.get("route"),
        "cache": request.cache,
        "fallback": request.fallback,
        "because": line.get("fallback_reason"),
    }
    named |= {"degraded": line.get("degraded"), "retries": request.retries or None, "error": request.error}
    named |= {"refusal": line.get("refusal"), "guard": ",".join(map(str, _listed(line.get("guard")))) or None}
    named |= {"guard_fault": line.get("guard_fault")}
    words += [f"{name}={value}" for name, value in named.items() if value]
    return [*words, f"key={line.get('key_id')}", str(line.get("id"))]


def money(usd: float) -> str:
    """``$0.000012``, ``$1.50``: small sums with the digits that tell them apart."""
    return f"${usd:.6f}" if usd < 0.01 else f"${usd:.4f}" if usd < 1 else f"${usd:.2f}"


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _plain(text: str) -> str:
    """Callers choose paths and ids: what is not printable would be a terminal's command."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
