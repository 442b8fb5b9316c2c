"""Rollouts of a stage whose host, workerd and daemon are killed all the time: what was left, and where they ended."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluiceway.local.faults import client as faults
from tests.e2e.asking import People, keep_asking
from tests.e2e.checkout import Checkout, make_checkout
from tests.e2e.conftest import Served, bring_up
from tests.e2e.rolling import grown, kill, looked, misled, wait_for

WHOM = ("workerd", "host", "daemon")
GOOD, BAD = "talk", "mail"
"""One goes all its way; the other's candidate fails from the middle of the kills on, and is rolled back."""
LONGEST_WAIT_S = 1.2
STEPS = (*range(5, 100, 5), 100)
_OTHER = "@cf/moonshotai/kimi-k2.7-code"
_GATES = 'errors: {margin: 0.4}, latency: "off", first_token: "off", empty: "off", refusals: "off", guard: "off"'


@dataclass
class Killed:
    """What so many kills came to. ``wrong``: each entry that was lost, split that no entry has, end that is another."""

    seed: int
    kills: dict[str, int] = field(default_factory=dict)
    entries: int = 0
    seconds: float = 0.0
    ends: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def killed(kills: int, seed: int, say: Callable[[str], None]) -> Killed:
    """Kills one after the other, ``kills`` times, on a stage of its own; ``say`` is told how far it has come."""
    found = Killed(seed)
    with _stage() as served:
        began = time.monotonic()
        with keep_asking(served, GOOD, at_once=3) as people, keep_asking(served, BAD):
            journals = _all_kills(served, kills, found, say)
            try:
                wait_for(lambda: _ended(served, GOOD) and _ended(served, BAD))
            except AssertionError:
                found.wrong.append("they came to no end")
        found.seconds = time.monotonic() - began
        _judge(served, people, journals, found)
    return found


@contextmanager
def _stage() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="sluiceway-kills-") as folder:
        checkout = make_checkout(Path(folder) / "checkout")
        _write(checkout)
        try:
            yield bring_up(checkout)
        finally:
            checkout.sluiceway("local", "stop")


def _write(checkout: Checkout) -> None:
    chat = (checkout.root / "models/chat.yaml").read_text("utf-8").replace("default: true\n", "")
    bad = chat.replace("@cf/moonshotai/kimi-k2.6", _OTHER)
    for name, text in ((GOOD, chat), (BAD, bad)):
        (checkout.root / f"models/{name}.yaml").write_text(text.replace("chat@", f"{name}@"), "utf-8")
    steps = ", ".join(f"{{weight: {weight}, hold: 4s}}" for weight in STEPS)
    ways = {GOOD: f"steps: [{steps}], watch: 4s", BAD: "steps: [{weight: 50, hold: 1h}]"}
    lines = ["  sluiceway:models:"]
    for name, way in ways.items():
        rest = f"min_pass: 6, gates: {{{_GATES}}}, {way}"
        lines.append(f"    {name}: {{rollout: {{strategy: canary, stable: {name}@1, candidate: {name}@2, {rest}}}}}")
    stack = checkout.root / "stacks/Pulumi.local.yaml"
    head = stack.read_text("utf-8").partition("  sluiceway:models:\n")[0]
    stack.write_text(head + "\n".join(lines) + "\n", "utf-8")


def _all_kills(served: Served, kills: int, found: Killed, say: Callable[[str], None]) -> dict[str, list[Any]]:
    chance = random.Random(found.seed)
    journals: dict[str, list[Any]] = {GOOD: [], BAD: []}
    for number in range(kills):
        whom = WHOM[number % len(WHOM)]
        time.sleep(chance.uniform(0, LONGEST_WAIT_S))
        _look(served, journals, found, f"before kill {number + 1}, of the {whom}")
        if number >= kills // 2:
            _break(served)
        kill(served.checkout, whom)
        found.kills[whom] = found.kills.get(whom, 0) + 1
        _look(served, journals, found, f"after kill {number + 1}, of the {whom}")
        say(f"{number + 1} of {kills}, {whom}")
    _break(served)
    return journals


def _break(served: Served) -> None:
    """From now on the other candidate fails; the daemon, which sees to that, forgets it when it is killed."""
    data = served.checkout.root / ".sluiceway/local"
    if not faults.listed(data):
        faults.add(data, {"models": [_OTHER], "status": 500, "seed": 1})


def _look(served: Served, journals: dict[str, list[Any]], found: Killed, when: str) -> None:
    for model, kept in journals.items():
        try:
            journals[model] = grown(served, kept, model)
        except AssertionError as error:
            found.wrong.append(f"{model}, {when}: {error}")


def _ended(served: Served, model: str) -> bool:
    return looked(served, f"/{model}")["phase"] in ("promoted", "rolled-back", "aborted")


def _judge(served: Served, people: People, journals: dict[str, list[Any]], found: Killed) -> None:
    _look(served, journals, found, "at the end")
    numbers = [entry["number"] for entry in looked(served, "/journal?limit=500")["entries"]]
    found.entries = len(numbers)
    found.ends = {model: entries[-1]["kind"] for model, entries in journals.items()}
    if numbers != list(range(1, len(numbers) + 1)):
        found.wrong.append(f"the journal has a gap: {numbers}")
    moved = [entry["kind"] for entry in journals[GOOD] if entry["kind"] != "platform"]
    if moved != ["start", *["step"] * (len(STEPS) - 1), "promoted", "done"]:
        found.wrong.append(f"{GOOD} went another way: {moved}")
    last = journals[BAD][-1]
    if (last["kind"], last["cause"]) != ("rolled-back", "gate:errors"):
        found.wrong.append(f"{BAD} ended by {last['cause']}: {last['sentence']}")
    for model, entries in journals.items():
        if looked(served, f"/{model}")["weights"] != entries[-1]["weights"]:
            found.wrong.append(f"{model}: the split is not that of the last entry")
    found.wrong += [f"an answer of no split: {answer}" for answer in misled(people, journals[GOOD])]
