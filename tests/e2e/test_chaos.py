"""An hour of mixed load in three minutes, while models fail in every way that they can: nobody is left unanswered."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest

from tests.e2e.chaos import Client, Tally
from tests.e2e.checkout import Checkout
from tests.e2e.conftest import bring_up

pytestmark = pytest.mark.long

GLM, KIMI = "glm-4.7-flash", "kimi-k2.6"
PHASES: tuple[tuple[str, ...], ...] = (
    (),
    ("--status", "429", "--model", KIMI, "--share", "0.8"),
    ("--cut-after", "3", "--share", "0.5"),
    ("--delay-ms", "1500", "--share", "0.6"),
    ("--broken", "json", "--share", "0.5"),
    ("--drop", "--model", GLM),
    ("--status", "500", "--share", "0.3"),
    ("--tokens-per-second", "20", "--share", "0.5"),
    ("--drop",),
    (),
)
"""Faults one after the other; the empty ones are a healthy stage, at the beginning and at the end."""
SECONDS = 18.0  # of each phase
CLIENTS = 12


def logged_ids(checkout: Checkout) -> set[str]:
    """Requests that have their line in the log."""
    found = set()
    for file in (checkout.root / ".sluiceway/local/logs").iterdir():
        for line in file.read_text("utf-8", "replace").splitlines():
            text = line.replace("\\", "")
            if '"event":"request"' in text:
                found.add(text.split('"id":"', 1)[1].split('"', 1)[0])
    return found


def test_no_request_is_lost_whatever_fails_behind_the_gateway(fresh: Callable[[], Checkout]) -> None:
    checkout = fresh()
    served = bring_up(checkout)

    tally = Tally()
    enough = threading.Event()
    threads = [threading.Thread(target=Client(served.url, served.key, n, enough, tally).run) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    by_phase = []
    for fault in PHASES:
        before = sum(tally.ends.values())
        if fault:
            added = checkout.sluiceway("local", "faults", "add", *fault)
            assert added.code == 0, added.err
        time.sleep(SECONDS)
        checkout.sluiceway("local", "faults", "clear")
        by_phase.append(sum(tally.ends.values()) - before)
    enough.set()
    for thread in threads:
        thread.join()

    print(json.dumps({"ends": tally.ends, "by_phase": by_phase}))
    assert tally.bad == []
    assert all(count > 0 for count in by_phase), by_phase
    assert tally.ends["answer"] > 100
    assert any(end.startswith("error") for end in tally.ends), "the faults were felt"
    time.sleep(3)
    assert tally.ids - logged_ids(checkout) == set(), "each has its line in the log"
