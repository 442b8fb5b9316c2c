"""Simulated rollouts: what is made of their ends."""

from __future__ import annotations

from bench.rollout.shaped import Ended, Shaped, goals, table

PLATFORM = "chat: chat@2 at 5 % holds, since stable is as bad: errors of both (platform)."


def end(seed: int, phase: str = "promoted", platform: str | None = None) -> Ended:
    return {
        "seed": seed,
        "phase": phase,
        "seconds": 900.0,
        "requests": 45_000,
        "sentence": "said.",
        "platform": platform,
        "errors": 0.01,
    }


def shaped(rolled_back: int = 0, open_: int = 0, common: str = "stepping", screen: str | None = PLATFORM) -> Shaped:
    phases = ["rolled-back"] * rolled_back + ["stepping"] * open_
    phases += ["promoted"] * (200 - len(phases))
    healthy = [end(seed, phase) for seed, phase in enumerate(phases, 1)]
    return {"healthy": healthy, "common": [end(1, common, screen), end(2, platform=PLATFORM)]}


def missed(found: Shaped) -> list[str]:
    return [goal["goal"] for goal in goals(found) if not goal["holds"]]


def test_two_of_200_may_be_rolled_back_and_a_third_is_one_too_many() -> None:
    assert missed(shaped(rolled_back=2)) == []
    assert missed(shaped(rolled_back=3)) == ["of 200 live-shaped healthy candidates at most 2 are rolled back"]


def test_a_candidate_that_never_comes_to_its_end_is_not_healthy_handling() -> None:
    assert missed(shaped(open_=1)) == ["of 200 live-shaped healthy candidates the others are promoted"]


def test_a_common_fault_that_rolls_back_or_is_not_called_the_platforms_is_missed() -> None:
    assert missed(shaped(common="rolled-back")) == ["of 2 live-shaped faults of both arms none rolls back"]
    assert missed(shaped(screen=None)) == ["the screen says `platform` in each of them"]
    assert missed(shaped(screen="chat: suspect in errors.")) == ["the screen says `platform` in each of them"]


def test_the_table_says_which_seeds_were_rolled_back() -> None:
    lines = table(shaped(rolled_back=1))
    assert "1 of 200 rolled back" in lines[1]
    assert lines[2].strip() == "seed 1: said."
