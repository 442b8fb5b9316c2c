"""The ways back, and what was killed: what is made of what was seen."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict

import httpx

from bench.rollout import kills
from bench.rollout.back import WAYS, Back, _found, goals, table
from bench.rollout.load import Asked, Crowd, Gateway
from bench.rollout.report import Goal
from tests.e2e.rollout_kills import Killed

PRESSED = 10_000.0


def back(way: str, restored_s: float = 3.0, accepted: int = 1, refused: int = 1, broken: str | None = None) -> Back:
    return Back(way, restored_s, restored_s + 9, 1, accepted, refused, 100, 0, broken)


def missed(found: list[Goal]) -> list[str]:
    return [goal["goal"] for goal in found if not goal["holds"]]


def test_each_way_has_its_bound_and_a_round_that_broke_off_keeps_none() -> None:
    assert missed(goals([back(way) for way in WAYS])) == []
    slow = [back("button"), back("command", 3.01), back("revert")]
    assert missed(goals(slow)) == ["command: the old answers are back within 3 s"]
    off = [back("button"), back("command"), back("revert", 0.0, broken="no stage")]
    assert missed(goals(off)) == ["revert: the old answers are back within 3 s"]
    assert len(missed(goals([]))) == 3


def test_two_who_press_are_one_transition_or_it_is_missed() -> None:
    goal = "two who press at once make one transition, and one of them is told so"
    assert missed(goals([back("button", accepted=2, refused=0), back("command"), back("revert")])) == [goal]
    assert missed(goals([back("button", accepted=0, refused=2), back("command"), back("revert")])) == [goal]


def test_the_table_says_from_when_each_is_measured() -> None:
    lines = table([back(way) for way in WAYS])
    assert [line.split(":")[0].split() for line in lines[1:]] == [
        ["button", "from", "the", "press"],
        ["command", "from", "the", "command's", "start"],
        ["revert", "from", "the", "end", "of", "`up`"],
    ]
    assert "from `git revert` on 12.0" in lines[-1]


def test_a_way_back_counts_from_its_moment_to_the_last_who_got_the_new_version() -> None:
    entries = [{"kind": kind, "at": at} for kind, at in (("start", 9000), ("refused", 10_001), ("aborted", 10_000))]

    async def found() -> Back:
        answer = httpx.MockTransport(lambda _: httpx.Response(200, json={"entries": entries}))
        async with httpx.AsyncClient(transport=answer) as client:
            crowd = Crowd(Gateway("http://gateway.test", "key", "admin"), client, "button", 10, False)
            crowd.asked += [Asked(PRESSED - 500, PRESSED + 4000, True, 200), Asked(PRESSED + 700, PRESSED, True, 200)]
            crowd.asked += [Asked(PRESSED + 900, PRESSED, False, 200), Asked(PRESSED + 950, PRESSED, False, 0)]
            return await _found(crowd, PRESSED - 100, PRESSED)

    seen = asyncio.run(found())
    assert (seen.restored_s, seen.whole_s) == (0.7, 0.8)
    assert (seen.transitions, seen.asked, seen.unanswered) == (1, 4, 1)


def test_what_was_killed_keeps_its_goals_only_without_a_fault_and_at_its_ends() -> None:
    good = Killed(1, {"host": 25, "workerd": 25}, 26, 200.0, {"talk": "done", "mail": "rolled-back"})
    assert missed(kills.goals(good)) == []
    assert json.loads(json.dumps(asdict(good)))["kills"] == {"host": 25, "workerd": 25}
    assert "at 50 random moments (seed 1): host 25, workerd 25" in kills.table(good)[0]
    bad = Killed(1, ends={"talk": "done", "mail": "step"}, wrong=["talk, after kill 3: it lost an entry"])
    assert len(missed(kills.goals(bad))) == 2
    assert kills.table(bad)[-1].strip() == "talk, after kill 3: it lost an entry"
