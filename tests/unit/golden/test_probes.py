"""Which golden prompts probes ask."""

from __future__ import annotations

from pathlib import Path

from sluiceway import catalog, settings
from sluiceway.golden.load import load
from sluiceway.golden.model import Prompt
from sluiceway.golden.probes import MOST, chosen, probe_bodies
from sluiceway.workspace import Workspace

ROOT = Path(__file__).parents[3]
CANARY = {"strategy": "canary", "stable": "chat@1", "candidate": "chat@2"}


def stated(**more: object) -> settings.Settings:
    account = {"account_id": "0123456789abcdef0123456789abcdef"}
    return settings.parse({**account, "models": {"chat": {"rollout": {**CANARY, **more}}}}, "here", stage="dev")


def prompt(number: int, text: str = "Who?", **request: int) -> Prompt:
    return Prompt(f"p-{number}", f"here:{number}", "en", "facts", ({"role": "user", "content": text},), request, ())


def test_nothing_is_read_for_a_rollout_without_probes() -> None:
    workspace = Workspace(ROOT)
    assert probe_bodies(workspace, stated(), catalog.load(workspace)) == {}


def test_probes_ask_what_stands_in_the_golden_file_of_their_model() -> None:
    workspace = Workspace(ROOT)
    known = catalog.load(workspace)
    (bodies,) = probe_bodies(workspace, stated(probes={}), known).values()
    texts = {
        each.messages[0]["content"] for each in load(ROOT / "models/golden/chat.jsonl", "golden", "chat", known).prompts
    }
    assert 0 < len(bodies) <= MOST
    assert {body["messages"][0]["content"] for body in bodies} <= texts
    assert any(not body["messages"][0]["content"].isascii() for body in bodies), "a second language is among them"


def test_a_few_from_all_over_the_set_are_asked_and_none_that_is_long() -> None:
    bodies = chosen([prompt(number, f"{number}?") for number in range(100)] + [prompt(100, "x" * 2_001)])
    numbers = [int(body["messages"][0]["content"].rstrip("?")) for body in bodies]
    assert numbers == list(range(0, 100, 5))


def test_an_answer_is_bounded_and_what_the_prompt_states_goes_along() -> None:
    plain, own = chosen([prompt(1), prompt(2, max_tokens=40, temperature=0)])
    assert plain == {"messages": [{"role": "user", "content": "Who?"}], "max_tokens": 256}
    assert (own["max_tokens"], own["temperature"]) == (40, 0)
