"""Shows an update as it happens: a line a resource, what is under way, elapsed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType

from sluiceway.engine.automation import Result
from sluiceway.engine.automation_events import Message, Step
from sluiceway.progress import Progress, human_seconds

_USUAL = {"up": 12.0, "preview": 6.0, "refresh": 6.0, "destroy": 8.0}  # seconds, the local stage on two cores
_QUIET_OPS = ("same", "read", "refresh", "read-discard", "discard-replaced", "remove-pending-replace")
_PAST = {
    "create": "created",
    "update": "updated",
    "delete": "deleted",
    "replace": "replaced",
    "create-replacement": "created anew",
    "delete-replaced": "deleted the old",
    "import": "imported",
}


def short_type(token: str) -> str:
    """``cloudflare:index/workerVersion:WorkerVersion`` -> ``WorkerVersion``."""
    return token.rpartition(":")[2]


@dataclass
class Watch:
    """Takes the engine's events. ``quiet``: keeps the steps for ``--json`` and prints errors only."""

    operation: str
    stage: str
    quiet: bool = False
    progress: Progress = field(default_factory=Progress)
    clock: Callable[[], float] = time.monotonic
    steps: dict[str, Step] = field(default_factory=dict)
    _note: Callable[[str], None] = field(default=lambda _text: None)
    _exit: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Watch:
        if not self.quiet:
            title = f"pulumi {self.operation} {self.stage}"
            self._note = self._exit.enter_context(self.progress.step(title, expected=_USUAL.get(self.operation)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.__exit__(kind, value, trace)

    def on_event(self, event: Step | Message) -> None:
        if isinstance(event, Message):
            if event.severity in ("warning", "error") and not self.quiet:
                self.progress.say(f"{event.severity}: {event.text}")
            return
        if event.op in _QUIET_OPS or event.type == "pulumi:pulumi:Stack":
            return
        self.steps[event.urn] = event
        label = f"{short_type(event.type)} {event.name}"
        if event.phase == "begun":
            self._note(f"{event.op} {label}")
        elif not self.quiet and self.operation != "preview":
            word = "FAILED" if event.phase == "failed" else _PAST.get(event.op, event.op)
            self.progress.say(f"  {word:<13} {label}")
        if self.operation == "preview" and event.phase == "begun" and not self.quiet:
            self.progress.say(f"  {event.op:<13} {label}")

    def steps_json(self) -> list[dict[str, str]]:
        return [{"op": step.op, "type": step.type, "name": step.name} for step in self.steps.values()]


def count_line(result: Result) -> str:
    """``0 changes, 17 unchanged, in 4.1 s``."""
    unchanged = result.changes.get("same", 0)
    parts = [f"{count} to {op}" if result.operation == "preview" else f"{count} {_PAST.get(op, op)}"
             for op, count in sorted(result.changes.items()) if op not in ("same", "read")]  # fmt: skip
    detail = f" ({', '.join(parts)})" if parts else ""
    word = "change" if result.changed == 1 else "changes"
    return f"{result.changed} {word}{detail}, {unchanged} unchanged, in {human_seconds(result.seconds)}"
