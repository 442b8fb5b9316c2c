"""Rollouts of equally good versions by the controller's own core, under traffic as it is live: see live-shaped.ts."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Literal, TypedDict

from bench.rollout.report import Goal
from sluiceway.errors import SluicewayError
from sluiceway.progress import human_seconds

HERE = Path(__file__).parent
SEEDS = 200
HOLD_S = 120
"""Of each step and of the watch, on the simulated clock."""
MOST_ROLLED_BACK = 0.01
SAYS_S = 15.0
World = Literal["healthy", "common"]


class Ended(TypedDict):
    """One run. ``seconds``: on the simulated clock; ``platform``: what the screen said of a fault of both, or None."""

    seed: int
    phase: str
    seconds: float
    requests: int
    sentence: str
    platform: str | None
    errors: float


Shaped = dict[World, list[Ended]]


def measured(node: Path, seeds: int, hold_s: int) -> Shaped:
    """``seeds`` runs of each world, on all cores; stderr says how long is left. SluicewayError when one breaks off."""
    found: Shaped = {"healthy": [], "common": []}
    for world, ends in found.items():
        rest = _Rest(f"{seeds} simulated rollouts, {_TITLES[world]}", seeds)
        for ended in _runs(node, world, seeds, hold_s):
            ends.append(ended)
            rest.tell(len(ends))
        ends.sort(key=lambda ended: ended["seed"])
    return found


_TITLES: dict[World, str] = {
    "healthy": "a candidate as good as stable",
    "common": "both arms fail alike from a random moment on",
}


def table(shaped: Shaped) -> list[str]:
    lines = ["the controller's own core under live-shaped traffic, from 5 % on at 50 requests a second, five gates"]
    for world, ends in shaped.items():
        lines.append(f"  {_TITLES[world]}: {_rolled_back(ends)} of {len(ends)} rolled back, {_told(world, ends)}")
        lines += [f"    seed {end['seed']}: {end['sentence']}" for end in ends if end["phase"] == "rolled-back"]
    return lines


def goals(shaped: Shaped) -> list[Goal]:
    healthy, common = shaped["healthy"], shaped["common"]
    most = int(MOST_ROLLED_BACK * len(healthy))
    back, promoted, at_fault = _rolled_back(healthy), _promoted(healthy), _rolled_back(common)
    platform = sum("(platform)" in (end["platform"] or "") for end in common)
    of = f"of {len(healthy)} live-shaped healthy candidates"
    return [
        {"goal": f"{of} at most {most} are rolled back", "seen": str(back), "holds": back <= most},
        {"goal": f"{of} the others are promoted", "seen": str(promoted), "holds": promoted + back == len(healthy)},
        {
            "goal": f"of {len(common)} live-shaped faults of both arms none rolls back",
            "seen": str(at_fault),
            "holds": at_fault == 0,
        },
        {
            "goal": "the screen says `platform` in each of them",
            "seen": f"{platform} of {len(common)}",
            "holds": platform == len(common),
        },
    ]


def _rolled_back(ends: Sequence[Ended]) -> int:
    return sum(end["phase"] == "rolled-back" for end in ends)


def _promoted(ends: Sequence[Ended]) -> int:
    return sum(end["phase"] == "promoted" for end in ends)


def _told(world: World, ends: Sequence[Ended]) -> str:
    if world == "common":
        return f"the screen said platform in {sum(end['platform'] is not None for end in ends)}"
    longest = human_seconds(max((end["seconds"] for end in ends), default=0))
    requests = sum(end["requests"] for end in ends)
    return f"{_promoted(ends)} promoted, within {longest}; {requests:,} requests"


class _Rest:
    """How much of some runs is left, said now and then."""

    def __init__(self, title: str, runs: int) -> None:
        self._title, self._runs = title, runs
        self._began = self._said = time.monotonic()

    def tell(self, done: int) -> None:
        now = time.monotonic()
        if now - self._said < SAYS_S and done < self._runs:
            return
        self._said = now
        left = (now - self._began) / done * (self._runs - done)
        print(f"{self._title}: {done} done, about {human_seconds(left)} left", file=sys.stderr, flush=True)


def _runs(node: Path, world: World, seeds: int, hold_s: int) -> Iterator[Ended]:
    """As they end, in no order."""
    cores = min(os.cpu_count() or 1, seeds)
    firsts = [1 + seeds * core // cores for core in range(cores + 1)]
    told: queue.Queue[str | None] = queue.Queue()
    with _Nodes() as nodes:
        for first, after in pairwise(firsts):
            words = [str(node), "--no-warnings", str(HERE / "shaped.ts"), world]
            child = subprocess.Popen(
                [*words, str(first), str(after - first), str(hold_s)], stdout=subprocess.PIPE, text=True
            )
            nodes.children.append(child)
            assert child.stdout is not None
            threading.Thread(target=_pass_on, args=(child.stdout, told), daemon=True).start()
        left = len(nodes.children)
        while left:
            line = told.get()
            if line is None:
                left -= 1
            else:
                yield json.loads(line)
        if any(child.wait() for child in nodes.children):
            raise SluicewayError("a simulated rollout ended early", hint="what went wrong stands above")


def _pass_on(lines: IO[str], told: queue.Queue[str | None]) -> None:
    for line in lines:
        told.put(line)
    told.put(None)


@dataclass
class _Nodes:
    """Children that are gone when the block is left, whatever ends it."""

    children: list[subprocess.Popen[str]] = field(default_factory=list)

    def __enter__(self) -> _Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.kill()
            child.wait()
