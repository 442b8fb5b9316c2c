"""What happens in an update, as it happens: the engine's events made into a few plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from pulumi.automation.events import DiagnosticEvent, EngineEvent, StepEventMetadata

Phase = Literal["begun", "done", "failed"]


@dataclass(frozen=True)
class Step:
    """One resource operation: ``op`` is create, update, delete, replace, same, read, refresh...

    ``changed`` names the properties that differ, never their values.
    """

    phase: Phase
    op: str
    type: str
    name: str
    urn: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Message:
    """Something the engine, a provider or the program says. ``severity``: info, warning or error."""

    severity: str
    text: str
    urn: str


OnEvent = Callable[[Step | Message], None]


@dataclass
class Collector:
    """Takes engine events; keeps the counts and the errors, passes steps and messages on."""

    on_event: OnEvent | None = None
    changes: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def __call__(self, event: EngineEvent) -> None:
        if event.resource_pre_event:
            self._step("begun", event.resource_pre_event.metadata)
        elif event.res_outputs_event:
            self._step("done", event.res_outputs_event.metadata)
        elif event.res_op_failed_event:
            self._step("failed", event.res_op_failed_event.metadata)
        elif event.diagnostic_event:
            self._message(event.diagnostic_event)
        elif event.summary_event:
            self.changes = {str(getattr(op, "value", op)): n for op, n in event.summary_event.resource_changes.items()}

    def _step(self, phase: Phase, metadata: StepEventMetadata) -> None:
        if self.on_event:
            op = str(getattr(metadata.op, "value", metadata.op))
            changed = tuple(sorted(metadata.diffs or ()))
            self.on_event(Step(phase, op, metadata.type, name_of(metadata.urn), metadata.urn, changed))

    def _message(self, event: DiagnosticEvent) -> None:
        if event.ephemeral:
            return
        text = plain(event.message).strip()
        severity = event.severity.removesuffix("#err")
        if severity == "error":
            where = name_of(event.urn) if event.urn and "pulumi:pulumi:Stack" not in event.urn else ""
            self.errors.append(f"{where}: {text}" if where else text)
        if self.on_event and text and severity != "debug":
            self.on_event(Message("info" if severity == "info" else severity, text, event.urn or ""))


def name_of(urn: str) -> str:
    """The resource's own name: the last part of its URN."""
    return urn.rpartition("::")[2]


def plain(text: str) -> str:
    """Without the engine's colour directives, ``<{%reset%}>``."""
    parts = text.split("<{%")
    return parts[0] + "".join(part.partition("%}>")[2] for part in parts[1:])
