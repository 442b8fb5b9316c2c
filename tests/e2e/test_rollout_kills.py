"""`kill -9` of host, workerd and daemon at random moments of two rollouts; `SLUICEWAY_TEST_KILLS=50`: more of them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import pytest

from tests.e2e.rollout_kills import BAD, GOOD, killed

# A stage of its own for minutes.
pytestmark = pytest.mark.long

KILLS = int(os.environ.get("SLUICEWAY_TEST_KILLS", "9"))


def test_kill_9_of_host_workerd_and_daemon_leaves_no_split_outside_the_journal_and_loses_no_entry() -> None:
    seed = int(os.environ.get("SLUICEWAY_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "big")
    found = killed(KILLS, seed, print)
    print(json.dumps(asdict(found)))
    assert found.wrong == []
    assert found.ends == {GOOD: "done", BAD: "rolled-back"}
