"""What a person may write wrong in a rollout. Each fault has the file's path, what was got and what to do."""

from __future__ import annotations

import pytest

from sluiceway import settings
from sluiceway.errors import UserError
from tests.unit.settings.conftest import Stack

AT = "stacks/Pulumi.dev.yaml: config.sluiceway:models.chat"
CANARY = "strategy: canary, stable: chat@1, candidate: chat@2"
BLUE_GREEN = "strategy: blue-green, stable: chat@1, candidate: chat@2"
AB = "strategy: ab, stable: chat@1"
SHADOW = "strategy: shadow, stable: chat@1, candidate: chat@2"
A_TIME = "write a whole number and its unit, like 30s, 10m, 2h or 1d; without a unit it is seconds"
A_REF = "write the model's name, an @ and the version's number, which begins at 1 and has no leading zero"
KNOWN = (
    "strategy, stable, candidate, arms, steps, gates, checks, watch, warm, control, on_fail, no_control, grace, "
    "mirror, probes, attempt, alpha, beta, min_fail, min_bad, min_pass, absolute"
)

WRONG: list[tuple[str, str, str]] = [
    (
        f"{CANARY}, split: []",
        ".rollout: unknown key 'split'",
        f"known keys: {KNOWN}",
    ),
    (
        f"{CANARY}, step: []",
        ".rollout: unknown key 'step'",
        "did you mean 'steps'?",
    ),
    (
        "stable: chat@1, candidate: chat@2",
        ".rollout.strategy: is required",
        "add strategy: one of canary, blue-green, ab, shadow",
    ),
    (
        "strategy: bluegreen, stable: chat@1, candidate: chat@2",
        ".rollout.strategy: must be one of canary, blue-green, ab, shadow, got 'bluegreen'",
        "did you mean blue-green?",
    ),
    (
        "strategy: canary, candidate: chat@2",
        ".rollout.stable: is required",
        "add stable: a version of the model, like chat@1",
    ),
    (
        "strategy: canary, stable: chat@1",
        ".rollout.candidate: is required",
        "add candidate: with the version that is to be tried, like chat@2",
    ),
    (
        "strategy: canary, stable: chat@1, candidate: 2",
        ".rollout.candidate: must be text, got 2",
        "put it in quotes, or YAML reads it as a number",
    ),
    (
        "strategy: canary, stable: chat@1, candidate: chat2",
        ".rollout.candidate: a model version is written like chat@3, got 'chat2'",
        A_REF,
    ),
    (
        "strategy: canary, stable: chat@1, candidate: chat@1",
        ".rollout.candidate: is stable itself, got 'chat@1'",
        "name the version that is to be tried; stable is the one that serves now",
    ),
    (
        "strategy: canary, stable: chat@1, candidate: intent@1",
        ".rollout.candidate: a rollout of chat names versions of chat, got 'intent@1'",
        "write chat@1, or give intent a rollout of its own beside chat",
    ),
    (
        "strategy: canary, stable: intent@1, candidate: chat@2",
        ".rollout.stable: a rollout of chat names versions of chat, got 'intent@1'",
        "write chat@1, or give intent a rollout of its own beside chat",
    ),
    # steps
    (
        f"{CANARY}, steps: []",
        ".rollout.steps: a rollout has at least one step",
        "add one, or take steps out for the usual ones",
    ),
    (
        f"{CANARY}, steps: [{{weight: 10}}, {{weight: 5}}]",
        ".rollout.steps[1].weight: weights rise from step to step, and the one before has 10, got 5",
        "write 11 or more, or take the step out",
    ),
    (
        f"{CANARY}, steps: [{{weight: 10}}, {{weight: 100}}, {{weight: 100}}]",
        ".rollout.steps[2].weight: weights rise from step to step, and the one before has 100, got 100",
        "take the step out",
    ),
    (
        f"{CANARY}, steps: [{{weight: 0}}]",
        ".rollout.steps[0].weight: must be at least 1, got 0",
        "write a whole number from 1 to 100",
    ),
    (
        f"{CANARY}, steps: [{{weight: 101}}]",
        ".rollout.steps[0].weight: must be at most 100, got 101",
        "write a whole number from 1 to 100",
    ),
    (
        f"{CANARY}, steps: [{{hold: 10m}}]",
        ".rollout.steps[0].weight: is required",
        "add weight: a whole number from 1 to 100",
    ),
    (
        f"{CANARY}, steps: [{{weight: 10, wait: 10m}}]",
        ".rollout.steps[0]: unknown key 'wait'",
        "did you mean 'weight'?",
    ),
    (
        f"{CANARY}, steps: 10",
        ".rollout.steps: must be a list, got 10",
        "write a list; each entry is a mapping with keys of weight, hold, approval, margins",
    ),
    (
        f"{CANARY}, steps: [{{weight: 10, approval: please}}]",
        ".rollout.steps[0].approval: must be true or false, got 'please'",
        "write true or false, without quotes",
    ),
    (
        f"{BLUE_GREEN}, steps: [{{weight: 50}}, {{weight: 100}}]",
        ".rollout.steps: a blue-green rollout has one step, to 100, got [50, 100]",
        "keep one step of weight 100, or write strategy: canary",
    ),
    (
        f"{AB}, arms: [{{version: chat@2, weight: 10}}], steps: [{{weight: 10}}]",
        ".rollout.steps: is no key of strategy ab",
        "take steps out (its weights stay as they are), or choose another strategy: canary, blue-green",
    ),
    (
        f"{SHADOW}, steps: [{{weight: 10}}]",
        ".rollout.steps: is no key of strategy shadow",
        "take steps out (its weights stay as they are), or choose another strategy: canary, blue-green",
    ),
    # times
    (
        f"{CANARY}, steps: [{{weight: 10, hold: -5}}]",
        ".rollout.steps[0].hold: a time is written like 10m, and is never negative, got -5",
        A_TIME,
    ),
    (
        f"{CANARY}, steps: [{{weight: 10, hold: -5m}}]",
        ".rollout.steps[0].hold: a time is written like 10m, and is never negative, got '-5m'",
        A_TIME,
    ),
    (
        f"{CANARY}, watch: 1.5h",
        ".rollout.watch: a time is written like 10m, and is never negative, got '1.5h'",
        A_TIME,
    ),
    (
        f"{CANARY}, watch: true",
        ".rollout.watch: a time is written like 10m, and is never negative, got True",
        A_TIME,
    ),
    (
        f"{CANARY}, watch: 31d",
        ".rollout.watch: a time is at most 30 days, got '31d'",
        "write 30d, or less",
    ),
    (
        f"{CANARY}, watch: [10m]",
        ".rollout.watch: a time is written like 10m, and is never negative, got ['10m']",
        A_TIME,
    ),
    # arms
    (
        AB,
        ".rollout.arms: an ab rollout has at least one arm beside stable",
        "add arms: with a version and its weight in each entry; stable has the rest",
    ),
    (
        f"{AB}, arms: [{{version: chat@2, weight: 60}}, {{version: chat@3, weight: 40}}]",
        ".rollout.arms: the arms' weights sum to less than 100, got 100",
        "lower them by 1 or more in all: stable has the rest, and they are compared with it",
    ),
    (
        f"{AB}, arms: [{{version: chat@2, weight: 90}}, {{version: chat@3, weight: 40}}]",
        ".rollout.arms: the arms' weights sum to less than 100, got 130",
        "lower them by 31 or more in all: stable has the rest, and they are compared with it",
    ),
    (
        f"{AB}, arms: [{{version: chat@2, weight: 10}}, {{version: chat@1, weight: 10}}]",
        ".rollout.arms[1].version: is stable itself, got 'chat@1'",
        "name the version that is to be tried; stable is the one that serves now",
    ),
    (
        f"{AB}, arms: [{{version: chat@2, weight: 10}}, {{version: chat@2, weight: 10}}]",
        ".rollout.arms[1].version: a version is one arm, got 'chat@2'",
        "add its weights up in one entry",
    ),
    (
        f"{AB}, arms: [{{version: chat@2, weight: 0}}]",
        ".rollout.arms[0].weight: must be at least 1, got 0",
        "write a whole number from 1 to 99",
    ),
    (
        f"{AB}, arms: [{{version: embed@2, weight: 10}}]",
        ".rollout.arms[0].version: a rollout of chat names versions of chat, got 'embed@2'",
        "write chat@2, or give embed a rollout of its own beside chat",
    ),
    (
        f"{AB}, candidate: chat@2, arms: [{{version: chat@3, weight: 10}}]",
        ".rollout.candidate: is no key of strategy ab",
        "take candidate out (its versions are its arms), or choose another strategy: canary, blue-green, shadow",
    ),
    (
        f"{CANARY}, arms: [{{version: chat@3, weight: 10}}]",
        ".rollout.arms: is no key of strategy canary",
        "take arms out (it has one candidate), or choose another strategy: ab",
    ),
    # what a strategy hasn't
    (
        f"{AB}, arms: [{{version: chat@2, weight: 10}}], watch: 1h",
        ".rollout.watch: is no key of strategy ab",
        "take watch out (nothing is promoted that could be watched), or choose another strategy: canary, blue-green",
    ),
    (
        f"{SHADOW}, checks: [golden]",
        ".rollout.checks: is no key of strategy shadow",
        "take checks out (nothing is promoted that could be checked before), "
        "or choose another strategy: canary, blue-green",
    ),
    (
        f"{SHADOW}, control: 5",
        ".rollout.control: is no key of strategy shadow",
        "take control out (stable keeps its share all the time), or choose another strategy: canary, blue-green",
    ),
    (
        f"{CANARY}, warm: 1h",
        ".rollout.warm: is no key of strategy canary",
        "take warm out (stable is not left all at once), or choose another strategy: blue-green",
    ),
    (
        f"{CANARY}, mirror: 10",
        ".rollout.mirror: is no key of strategy canary",
        "take mirror out (the candidate's answers are given to callers), or choose another strategy: shadow",
    ),
    # the rest
    (
        f"{CANARY}, checks: [silver]",
        ".rollout.checks[0]: must be one of golden, got 'silver'",
        "write one of golden",
    ),
    (
        f"{CANARY}, checks: [golden, golden]",
        ".rollout.checks: a value stands twice, got 'golden'",
        "take one of them out",
    ),
    (
        f"{CANARY}, control: 51",
        ".rollout.control: must be at most 50, got 51",
        "write a whole number from 0 to 50",
    ),
    (
        f"{SHADOW}, mirror: 0",
        ".rollout.mirror: must be at least 1, got 0",
        "write a whole number from 1 to 100",
    ),
    (
        f"{CANARY}, on_fail: abort",
        ".rollout.on_fail: must be one of rollback, hold, got 'abort'",
        "write one of rollback, hold",
    ),
    (
        f"{CANARY}, no_control: wait",
        ".rollout.no_control: must be one of rollback, hold, got 'wait'",
        "write one of rollback, hold",
    ),
    (
        f"{CANARY}, grace: 5m",
        ".rollout.grace: counts only where a breach without a control rolls back",
        "write no_control: rollback beside it, or take grace out",
    ),
    (
        f"{CANARY}, attempt: 0",
        ".rollout.attempt: must be at least 1, got 0",
        "write a whole number from 1 to 1000000",
    ),
    (
        f"{CANARY}, alpha: 0",
        ".rollout.alpha: must be at least 1e-06, got 0",
        "write a number from 1e-06 to 0.5",
    ),
    (
        f"{CANARY}, beta: 0.6",
        ".rollout.beta: must be at most 0.5, got 0.6",
        "write a number from 1e-06 to 0.5",
    ),
    (
        f"{CANARY}, min_pass: 0",
        ".rollout.min_pass: must be at least 1, got 0",
        "write a whole number from 1 to 1000000",
    ),
    (
        f"{CANARY}, absolute: 1",
        ".rollout.absolute: must be at most 0.9, got 1",
        "write a number from 0.01 to 0.9",
    ),
]


@pytest.mark.parametrize(("stated", "message", "hint"), WRONG, ids=[case[1][1:] for case in WRONG])
def test_a_fault_in_a_rollout_is_told_where_it_stands(stack: Stack, stated: str, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(f"sluiceway:models: {{chat: {{rollout: {{{stated}}}}}}}"), "dev")
    assert (str(caught.value), caught.value.hint, caught.value.exit_code) == (f"{AT}{message}", hint, 2)


OF_THE_MODEL = [
    (
        f"{{split: [{{version: chat@1, weight: 100}}], rollout: {{{CANARY}}}}}",
        ": a model has a split or a rollout, not both",
        "take split out: while a rollout is declared, its controller moves the weights",
    ),
    (
        "{}",
        ": a model has a split or a rollout",
        "add split: with a version and its weight in each entry, or rollout: with its strategy and versions",
    ),
    (f"{{rolout: {{{CANARY}}}}}", ": unknown key 'rolout'", "did you mean 'rollout'?"),
    (
        "{rollout: canary}",
        ".rollout: must be a mapping, got 'canary'",
        f"write a mapping with keys of {KNOWN}",
    ),
]


@pytest.mark.parametrize(("stated", "message", "hint"), OF_THE_MODEL)
def test_a_model_has_a_split_or_a_rollout(stack: Stack, stated: str, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(f"sluiceway:models: {{chat: {stated}}}"), "dev")
    assert (str(caught.value), caught.value.hint) == (f"{AT}{message}", hint)


TOLD = [
    ("{format: slack}", ".webhook: is required", "add webhook: text"),
    (
        "{webhook: https://hooks.example.com}",
        ".webhook: a secret's name is capitals, digits and underscores, got 'https://hooks.example.com'",
        "write it as the Worker reads it in env, like UPSTREAM_KEY",
    ),
    ("{webhook: HOOK, format: teams}", ".format: must be one of json, slack, got 'teams'", "write one of json, slack"),
    ("{webhook: HOOK, formt: json}", ": unknown key 'formt'", "did you mean 'format'?"),
]


@pytest.mark.parametrize(("stated", "message", "hint"), TOLD)
def test_who_is_told_of_transitions_is_checked(stack: Stack, stated: str, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(f"sluiceway:rollouts: {stated}"), "dev")
    told = f"stacks/Pulumi.dev.yaml: config.sluiceway:rollouts{message}"
    assert (str(caught.value), caught.value.hint) == (told, hint)


def test_the_engines_text_is_read_as_the_file_is(stack: Stack) -> None:
    """The engine hands settings over as JSON in text."""
    stated = '{"chat": {"rollout": {"strategy": "canary", "stable": "chat@1", "candidate": "chat@2", "watch": "2h"}}}'
    found = settings.parse({"account_id": "0" * 32, "models": stated}, "here", stage="dev")
    rollout = found.models["chat"].rollout
    assert rollout is not None
    assert (rollout.watch, rollout.candidate) == (7_200, "chat@2")
