"""The golden prompts of this repository: a sensible answer passes each, and what is none does not."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from sluiceway import catalog
from sluiceway.golden import load
from sluiceway.golden.checks import score, weighed
from sluiceway.golden.model import Prompt
from sluiceway.workspace import Workspace

HERE = Workspace(Path(__file__).resolve().parents[3])
LINES = Path(__file__).with_name("answers.jsonl").read_text("utf-8").splitlines()
SENSIBLE: dict[str, list[str]] = {line["id"]: line["answers"] for line in map(json.loads, LINES)}
(CHAT,) = load.load_all(HERE, catalog.load(HERE))
NONE = ("", "I can't help with that.", "很抱歉，我无法回答这个问题。", "[scripted x] This is a stand-in, not a model.")


def found(pattern: str, text: str) -> bool:
    return bool(re.search(pattern, text))


def scored(prompt: Prompt, answer: str) -> float:
    return weighed(prompt.checks, [score(check, answer, found) for check in prompt.checks]) or 0.0


def test_there_are_enough_in_both_languages_and_over_all_topics() -> None:
    assert len(CHAT.prompts) >= 60
    languages = Counter(prompt.language for prompt in CHAT.prompts)
    assert set(languages) == {"en", "zh"} and languages["en"] == languages["zh"]
    topics = Counter((prompt.topic, prompt.language) for prompt in CHAT.prompts)
    named = ("facts", "arithmetic", "instructions", "formats", "json", "code", "harmless")
    assert set(topics) == {(topic, language) for topic in named for language in languages}
    assert min(topics.values()) >= 3
    kinds = Counter(check.kind for prompt in CHAT.prompts for check in prompt.checks)
    assert {"contains", "not_contains", "regex", "json_schema", "numeric", "exact", "max_length"} == set(kinds)


def test_each_prompt_has_a_sensible_answer_here() -> None:
    assert set(SENSIBLE) == {prompt.id for prompt in CHAT.prompts}
    assert all(SENSIBLE.values())


@pytest.mark.parametrize("prompt", CHAT.prompts, ids=lambda prompt: prompt.id)
def test_a_sensible_answer_passes_every_check(prompt: Prompt) -> None:
    for answer in SENSIBLE[prompt.id]:
        scores = {f"{check.kind} {at}": score(check, answer, found) for at, check in enumerate(prompt.checks)}
        assert set(scores.values()) == {1.0}, (answer, scores)


@pytest.mark.parametrize("prompt", CHAT.prompts, ids=lambda prompt: prompt.id)
def test_what_is_no_answer_scores_low(prompt: Prompt) -> None:
    for answer in NONE:
        assert scored(prompt, answer) <= 0.5, answer


def test_no_prompt_gives_its_own_answer_away() -> None:
    """A model that only repeats what it was asked must not look good."""
    echoed = [scored(prompt, prompt.messages[-1]["content"]) for prompt in CHAT.prompts]
    assert sum(echoed) / len(echoed) < 0.4
