"""Rollouts on a stage of their own: what a gate, a person, `kill -9` and git make of them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluiceway.domain.split import Split, choose, point
from tests.children import ended
from tests.e2e.asking import People, keep_asking
from tests.e2e.checkout import Checkout, make_checkout
from tests.e2e.conftest import Served, bring_up
from tests.e2e.rolling import FOLLOWS_MS, PATIENCE_S, grown, journal, kill, looked, misled, wait_for

# A whole stage at work for minutes; each part has its own test in seconds.
pytestmark = pytest.mark.long

_GATES = 'errors: {margin: 0.4}, latency: "off", first_token: "off", empty: "off", refusals: "off", guard: "off"'
ROLLOUTS = {
    # Fails, and is rolled back by its gate.
    "chat": "steps: [{weight: 50, hold: 1h}]",
    # Is rolled back by a person, by two even.
    "mail": "steps: [{weight: 50, hold: 1h}]",
    # Goes all its way, whatever is killed.
    "talk": "steps: [{weight: 10, hold: 5s}, {weight: 50, hold: 5s}, {weight: 100, hold: 5s}], watch: 5s",
}


def stack_text(checkout: Checkout) -> Path:
    return checkout.root / "stacks/Pulumi.local.yaml"


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    """The stack file as it was before there were rollouts, under ``text``, once the stage has been made."""
    return {}


@pytest.fixture(scope="module")
def rolling(tmp_path_factory: pytest.TempPathFactory, before: dict[str, str]) -> Iterator[Served]:
    checkout = make_checkout(tmp_path_factory.mktemp("rolling"))
    chat = (checkout.root / "models/chat.yaml").read_text("utf-8").replace("default: true\n", "")
    old, new = ["  sluiceway:models:"], ["  sluiceway:models:"]
    for name, more in ROLLOUTS.items():
        if name != "chat":
            (checkout.root / f"models/{name}.yaml").write_text(chat.replace("chat@", f"{name}@"), "utf-8")
        rest = f"min_pass: 6, gates: {{{_GATES}}}, {more}"
        old.append(f"    {name}: {{split: [{{version: {name}@1, weight: 100}}]}}")
        new.append(f"    {name}: {{rollout: {{strategy: canary, stable: {name}@1, candidate: {name}@2, {rest}}}}}")
    text = stack_text(checkout).read_text("utf-8")
    before["text"] = text + "\n".join(old) + "\n"
    stack_text(checkout).write_text(text + "\n".join(new) + "\n", "utf-8")
    try:
        yield bring_up(checkout)
    finally:
        checkout.sluiceway("local", "stop")


def told(served: Served, *words: str) -> Any:  # noqa: ANN401 - a JSON document
    done = served.checkout.sluiceway("rollout", *words, "local", "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def nobody_follows_later(people: People, moment: float) -> None:
    """Some had the candidate before ``moment``, and nobody who asked long enough after it; but they were answered."""
    late = [answer for answer in people.answers if answer.asked > moment + FOLLOWS_MS]
    assert any(answer.version == 2 for answer in people.answers if answer.asked < moment)
    assert [answer for answer in late if answer.version == 2] == []
    assert any(answer.version == 1 for answer in late), late[-3:]


def test_a_candidate_that_fails_is_rolled_back_and_all_agree_on_it(rolling: Served) -> None:
    added = rolling.checkout.sluiceway("local", "faults", "add", "--model", "chat@2", "--status", "500")
    assert added.code == 0, added.err
    with keep_asking(rolling, "chat") as people:
        watched = rolling.checkout.sluiceway("rollout", "watch", "chat", "local")
        time.sleep(FOLLOWS_MS / 1000 + 2)
    assert rolling.checkout.sluiceway("local", "faults", "clear").code == 0
    assert watched.code == 3, watched.err

    *_, last = told(rolling, "history", "chat")
    view = told(rolling, "show", "chat")
    assert (last["kind"], last["cause"], last["phase"]) == ("rolled-back", "gate:errors", "rolled-back")
    assert last["sentence"].startswith("chat: rolled back to chat@1: errors fail")
    assert last["sentence"] in watched.out
    assert (view["phase"], view["held"]) == ("rolled-back", True)
    assert view["weights"] == last["weights"] and view["weights"][0] == [1, 100]
    assert view["weights"] == looked(rolling, "/chat")["weights"]
    nobody_follows_later(people, last["at"])
    own = [answer for answer in people.answers if answer.version == 2]
    assert own and all(answer.fallback for answer in own), "stable stood in for each that failed"


def test_after_a_restart_a_user_has_the_arm_of_before(rolling: Served) -> None:
    view = looked(rolling, "/mail")
    users = tuple(f"other-{number}" for number in range(30))
    people = People(rolling.url, rolling.key, "mail", users)
    earlier = people.versions()
    kill(rolling.checkout, "host")
    split = Split(tuple((version, weight) for version, weight in view["weights"]))
    assert people.versions() == earlier == {user: choose(split, point("mail", user)) for user in users}


def test_two_who_press_rollback_at_once_make_one_transition_and_the_old_answers_are_back(rolling: Served) -> None:
    revision = told(rolling, "show", "mail")["revision"]
    command = ["rollout", "rollback", "mail", "local", "--expect", str(revision), "--json"]
    with keep_asking(rolling, "mail") as people:
        wait_for(lambda: any(answer.version == 2 for answer in list(people.answers)))
        first = start(rolling.checkout, *command, "--as", "ann")
        second = start(rolling.checkout, *command, "--as", "bo")
        with ended(first), ended(second):
            outs = [child.communicate(timeout=PATIENCE_S) for child in (first, second)]
        time.sleep(FOLLOWS_MS / 1000 + 2)
    assert sorted(child.returncode for child in (first, second)) == [0, 2], outs
    ends = [entry for entry in journal(rolling, "mail") if entry["kind"] in ("aborted", "rolled-back")]
    assert len(ends) == 1 and ends[0]["cause"] in ("person:ann", "person:bo")
    assert ends[0]["kind"] == "aborted", "so it is called before a promotion"
    nobody_follows_later(people, ends[0]["at"])


def start(checkout: Checkout, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [checkout.python, "-m", "sluiceway", *words],
        cwd=checkout.root,
        env=checkout.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_kill_9_during_a_ramp_leaves_no_split_and_loses_no_entry_of_the_journal(rolling: Served) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    chance = random.Random(seed)
    kept: list[dict[str, Any]] = []
    print(json.dumps({"seed": seed}))
    with keep_asking(rolling, "talk", at_once=4) as people:
        for whom in ("workerd", "host", "workerd"):
            time.sleep(chance.uniform(1, 5))
            kept = grown(rolling, kept)
            kill(rolling.checkout, whom)
            kept = grown(rolling, kept)
        wait_for(lambda: looked(rolling, "/talk")["phase"] in ("promoted", "rolled-back", "aborted"))
    kept = grown(rolling, kept)
    kinds = [entry["kind"] for entry in kept]
    assert kinds == ["start", "step", "step", "promoted", "done"], [entry["sentence"] for entry in kept]
    assert told(rolling, "show", "talk")["weights"] == kept[-1]["weights"]
    assert told(rolling, "history", "talk") == kept
    assert misled(people, kept) == []


def test_git_revert_and_up_bring_the_old_answers_back(rolling: Served, before: dict[str, str]) -> None:
    stack_text(rolling.checkout).write_text(before["text"], "utf-8")
    with keep_asking(rolling, "talk") as people:
        up = rolling.checkout.sluiceway("up", "local")
        done_at = time.time() * 1000
        time.sleep(FOLLOWS_MS / 1000 + 2)
    assert up.code == 0, up.err
    nobody_follows_later(people, done_at)
    *_, last = journal(rolling, "talk")
    assert (last["kind"], last["weights"][0]) == ("spec", [1, 100])
