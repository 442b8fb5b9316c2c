"""Shows an update as it happens: a line a resource, what is under way, elapsed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType

from sluiceway.engine.automation import Result
from sluiceway.engine.automation_events import Message, Step
from sluiceway.progress import Progress, human_seconds

_USUAL = {"up": 12.0, "preview": 6.0, "refresh": 6.0, "destroy": 8.0}  # seconds, the local stage on two cores
_QUIET_OPS = ("same", "read", "refresh", "read-discard", "discard-replaced", "remove-pending-replace")
# The engine's own entries, which are nothing in an account: its count leaves them out too when they are updated.
_BOOKKEEPING = ("pulumi:pulumi:Stack", "pulumi:providers:")
# The engine tells a replacement in three steps; to a person it is one.
_ONE = {"create-replacement": "replace", "delete-replaced": "replace"}
_PAST = {"create": "created", "update": "updated", "delete": "deleted", "replace": "replaced", "import": "imported"}


def short_type(token: str) -> str:
    """``cloudflare:index/workerVersion:WorkerVersion`` -> ``WorkerVersion``."""
    return token.rpartition(":")[2]


def _label(step: Step) -> str:
    return f"{short_type(step.type)} {step.name}"


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
            # Errors come again, whole, in what the operation raises.
            if event.severity == "warning" and not self.quiet:
                self.progress.say(f"warning: {event.text}")
            return
        if event.op in _QUIET_OPS or (event.type.startswith(_BOOKKEEPING) and event.phase != "failed"):
            return
        step = replace(event, op=_ONE.get(event.op, event.op))
        before = self.steps.get(step.urn)
        self.steps[step.urn] = replace(step, changed=step.changed or (before.changed if before else ()))
        if step.phase == "begun":
            self._note(f"{step.op} {_label(step)}")
        elif self.operation != "preview" and not self.quiet and event.op not in ("replace", "delete-replaced"):
            word = "FAILED" if step.phase == "failed" else _PAST.get(step.op, step.op)
            self.progress.say(f"  {word:<9} {_label(step)}")

    def summary(self) -> list[str]:
        """A line for each resource that would change: what happens to it, and which of its properties differ."""
        return [
            f"  {step.op:<8} {_label(step)}{'  [' + ', '.join(step.changed) + ']' if step.changed else ''}"
            for step in self.steps.values()
        ]

    def steps_json(self) -> list[dict[str, object]]:
        return [
            {"op": step.op, "type": step.type, "name": step.name, "changed": list(step.changed)}
            for step in self.steps.values()
        ]


def count_line(result: Result) -> str:
    """``0 changes, 17 unchanged, in 4.1 s``."""
    unchanged = result.changes.get("same", 0)
    parts = [f"{count} to {op}" if result.operation == "preview" else f"{count} {_PAST.get(op, op)}"
             for op, count in sorted(result.changes.items()) if op not in ("same", "read")]  # fmt: skip
    detail = f" ({', '.join(parts)})" if parts else ""
    word = "change" if result.changed == 1 else "changes"
    return f"{result.changed} {word}{detail}, {unchanged} unchanged, in {human_seconds(result.seconds)}"
