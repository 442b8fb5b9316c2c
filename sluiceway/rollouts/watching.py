"""Looks at rollouts again and again until they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from sluiceway.errors import GateAborted, SluicewayError, UserError
from sluiceway.rollouts.client import Rollouts
from sluiceway.rollouts.views import JournalEntry, Millis, RolloutView

KEPT: Final = 10
"""How many entries of the past the first look gives."""
_PATIENCE: Final = 300.0
_EVERY: Final = 1.0


@dataclass(frozen=True)
class Look:
    """``fresh``: entries since the look before. ``silent_s``: for how long the gateway has not answered."""

    at: Millis
    models: tuple[RolloutView, ...]
    fresh: tuple[JournalEntry, ...]
    silent_s: float = 0


def looks(
    rollouts: Rollouts,
    model: str | None,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    wait_s: float = 0,
) -> Iterator[Look]:
    """A look a second, the last one when none of the rollouts runs any more. ``clock`` gives seconds since the epoch.

    ``wait_s``: how long one may take to begin. A gateway that does not answer is asked again for some minutes.
    Raises GateAborted after the last look when a gate ended a rollout that was watched.
    """
    began = heard = clock()
    known: list[JournalEntry] = []
    ran: set[str] = set() if model is None else {model}
    begun = False
    last: Look | None = None
    while True:
        try:
            last = _look(rollouts, model, known[-1].number if known else 0, clock() * 1000)
        except UserError:
            raise
        except SluicewayError:
            silent = clock() - heard
            if last is None or silent > _PATIENCE:
                raise
            yield replace(last, at=clock() * 1000, fresh=(), silent_s=max(silent, 0.1))
            sleep(_EVERY)
            continue
        heard = clock()
        shown = last.fresh if known else last.fresh[-KEPT:]
        known += last.fresh
        yield replace(last, fresh=shown)
        running = {view.model for view in last.models if view.running or view.phase == "measuring"}
        ran |= running
        begun = begun or bool(running)
        if not running and (begun or heard - began >= wait_s):
            return _end(last, ran, known)
        sleep(_EVERY)


def _look(rollouts: Rollouts, model: str | None, after: int, at: Millis) -> Look:
    # The journal second, so that it has the entry of each phase that was seen.
    views = rollouts.stage().models if model is None else (rollouts.model(model),)
    return Look(at, views, tuple(rollouts.journal(model, after)))


def _end(last: Look, ran: set[str], known: list[JournalEntry]) -> None:
    for view in last.models:
        ends = [entry for entry in known if entry.model == view.model and entry.kind == "rolled-back"]
        if view.model in ran and view.phase == "rolled-back" and ends and ends[-1].cause.startswith("gate:"):
            raise GateAborted(
                ends[-1].sentence.rstrip(".").removeprefix(f"{view.model}: "),
                path=view.model,
                hint="git still declares it, and it is held; change the version or raise `attempt` to try again",
            )
