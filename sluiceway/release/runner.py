"""Moves a worker version on: looks at the world, makes one move, looks again.

Nothing is remembered between two looks but what the gates have counted; a runner may be killed at any point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sluiceway.release.gates import WorkerGates
from sluiceway.release.ramp import (
    Deploy,
    Judge,
    Move,
    Over,
    Plan,
    Smoke,
    Wait,
    after,
    after_smoke,
    next_move,
    target_of,
)
from sluiceway.release.read import Api, read
from sluiceway.release.world import WorkerVersion

TICK: Final = 5.0
QUIET: Final = timedelta(seconds=30)
"""How long a runner that only waits says nothing new."""


@dataclass(frozen=True)
class Told:
    """One thing that happened. ``kind``: ``deploy``, ``wait``, ``over``."""

    kind: str
    sentence: str
    failed: bool = False


@dataclass(frozen=True)
class Options:
    """``asked``: a version by the beginning of its id. ``force``: end what others put in place."""

    asked: str | None = None
    force: bool = False
    retry: bool = False
    once: bool = False


@dataclass
class Runner:
    """``smoke`` tries a version and gives what is wrong with it. ``withdrawn`` tells the stage that one is
    gone, and gives a sentence where that failed. ``record`` is called with the one that serves all requests."""

    api: Api
    plan: Plan
    gates: WorkerGates
    smoke: Callable[[WorkerVersion], str | None]
    withdrawn: Callable[[WorkerVersion], str | None]
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    tell: Callable[[Told], None]
    record: Callable[[WorkerVersion], None] = lambda _version: None

    def run(self, options: Options) -> Told:
        """Moves on until the ramp is over; with ``once``, one move. What ended it comes back, told as well."""
        force, retry, last = options.force, options.retry, ""
        spoke: datetime | None = None
        while True:
            told = self.tick(Options(options.asked, force, retry))
            quiet = told.kind == "wait" and spoke is not None and self.now() - spoke < QUIET
            if told.sentence != last and not quiet:
                self.tell(told)
                last, spoke = told.sentence, self.now()
            if told.kind == "over" or told.failed or options.once:
                return told
            if told.kind == "deploy":
                force = retry = False  # said once, meant once: what others do from now on is news
            else:
                self.sleep(TICK)

    def tick(self, options: Options) -> Told:
        """One look, one move."""
        world = read(self.api)
        new = target_of(world, options.asked)
        move = next_move(world, new, self.plan, force=options.force, retry=options.retry)
        move = self._decided(new, move)
        if isinstance(move, Deploy):
            return self._deploy(new, move)
        if isinstance(move, Wait):
            return Told("wait", move.sentence)
        assert isinstance(move, Over)
        self.gates.end()
        # Said again: whoever took it out may have been killed before the stage was told.
        if move.failed:
            return Told("over", self._with_withdrawal(new, move.sentence), True)
        self.record(new)
        return Told("over", move.sentence)

    def _decided(self, new: WorkerVersion, move: Move) -> Move:
        if isinstance(move, Smoke):
            return after_smoke(move.old, new, self.plan, self.smoke(new))
        if isinstance(move, Judge):
            reading = self.gates.verdict(move.old.id, new.id, move.window)
            return after(move, self.plan, reading, self.now())
        return move

    def _deploy(self, new: WorkerVersion, move: Deploy) -> Told:
        shares = [(share.version, share.percent) for share in move.shares]
        self.api.deploy(shares, move.message)
        if move.failed:
            self.gates.end()
        sentence = self._with_withdrawal(new, move.sentence) if move.failed else move.sentence
        return Told("deploy", sentence, move.failed)

    def _with_withdrawal(self, new: WorkerVersion, sentence: str) -> str:
        trouble = self.withdrawn(new)
        return f"{sentence} {trouble}" if trouble else sentence
