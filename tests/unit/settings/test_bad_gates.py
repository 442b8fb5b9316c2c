"""What a person may write wrong in the gates of a rollout, and in the margins of its steps."""

from __future__ import annotations

import pytest

from sluiceway import settings
from sluiceway.domain.rollout import GATES
from sluiceway.errors import UserError
from tests.unit.settings.conftest import Stack
from tests.unit.settings.test_bad_rollouts import AT, CANARY

WRONG: list[tuple[str, str, str]] = [
    (
        f"{CANARY}, gates: [errors]",
        ".rollout.gates: must be a mapping, got ['errors']",
        "write a mapping, a name and its value on each line",
    ),
    (
        f"{CANARY}, gates: {{latncy: {{slo: 5}}}}",
        ".rollout.gates.latncy: there is no gate of this name, got 'latncy'",
        "did you mean latency?",
    ),
    (
        f"{CANARY}, gates: {{probes: {{margin: 0.1}}}}",
        ".rollout.gates.probes: is fed by probes alone, and none are sent",
        "add probes: {every: 30s} beside gates, or take the gate out",
    ),
    (
        f'{CANARY}, probes: {{}}, gates: {{probes: "off"}}',
        ".rollout.gates.probes: probes are sent for their gate alone, got 'off'",
        "take probes out instead",
    ),
    (
        f"{CANARY}, probes: {{every: 1s}}",
        ".rollout.probes.every: is too often, got 1",
        "write 5s or more: probes are for where there is little traffic, not load of their own",
    ),
    (
        f"{CANARY}, gates: {{zzz: {{margin: 0.1}}}}",
        ".rollout.gates.zzz: there is no gate of this name, got 'zzz'",
        f"known gates: {', '.join(GATES)}",
    ),
    (
        f'{CANARY}, gates: {{errors: "no"}}',
        ".rollout.gates.errors: a gate is a mapping, or off, got 'no'",
        'write "off" in quotes, or a mapping with keys of margin, slo, mode',
    ),
    (
        f"{CANARY}, gates: {{errors: 0.05}}",
        ".rollout.gates.errors: must be a mapping, got 0.05",
        "write a mapping with keys of margin, slo, mode",
    ),
    (
        f"{CANARY}, gates: {{errors: {{margn: 0.05}}}}",
        ".rollout.gates.errors: unknown key 'margn'",
        "did you mean 'margin'?",
    ),
    (
        f"{CANARY}, gates: {{errors: {{margin: -0.1}}}}",
        ".rollout.gates.errors.margin: must be at least 0, got -0.1",
        "write a number from 0 to 0.99",
    ),
    (
        f"{CANARY}, gates: {{errors: {{margin: 2}}}}",
        ".rollout.gates.errors.margin: must be at most 0.99, got 2",
        "write a number from 0 to 0.99",
    ),
    (
        f"{CANARY}, gates: {{errors: {{mode: enforced}}}}",
        ".rollout.gates.errors.mode: must be one of enforce, observe, off, got 'enforced'",
        "did you mean enforce?",
    ),
    (
        f"{CANARY}, gates: {{errors: {{slo: 5}}}}",
        ".rollout.gates.errors.slo: the gate errors has no slo, got 5.0",
        "take slo out; gates with one are first_token, latency, speed, cost",
    ),
    (
        f"{CANARY}, gates: {{latency: {{slo: 0}}}}",
        ".rollout.gates.latency.slo: must be at least 1e-06, got 0",
        "write a number from 1e-06 to 1000000",
    ),
    (
        f"{CANARY}, gates: {{cost: {{margin: 0.05}}}}",
        ".rollout.gates.cost.slo: the gate cost needs one, since no figure fits all models",
        "add slo: the US dollars a request over which a request is bad",
    ),
    (
        f"{CANARY}, gates: {{speed: {{}}}}",
        ".rollout.gates.speed.slo: the gate speed needs one, since no figure fits all models",
        "add slo: the tokens a second under which a request is bad",
    ),
    (
        f"{CANARY}, steps: [{{weight: 10, margins: {{errors: 1}}}}]",
        ".rollout.steps[0].margins.errors: must be at most 0.99, got 1",
        "write a number from 0 to 0.99",
    ),
    (
        f"{CANARY}, steps: [{{weight: 10, margins: {{error: 0.1}}}}]",
        ".rollout.steps[0].margins.error: there is no gate of this name, got 'error'",
        "did you mean errors?",
    ),
]


@pytest.mark.parametrize(("stated", "message", "hint"), WRONG, ids=[case[1][1:] for case in WRONG])
def test_a_fault_in_a_gate_is_told_where_it_stands(stack: Stack, stated: str, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(f"sluiceway:models: {{chat: {{rollout: {{{stated}}}}}}}"), "dev")
    assert (str(caught.value), caught.value.hint, caught.value.exit_code) == (f"{AT}{message}", hint, 2)


def test_off_without_quotes_is_told_as_what_readers_disagree_on(stack: Stack) -> None:
    with pytest.raises(UserError) as caught:
        settings.load(stack(f"sluiceway:models: {{chat: {{rollout: {{{CANARY}, gates: {{json: off}}}}}}}}"), "dev")
    assert "readers of YAML disagree on what off means" in str(caught.value)
    assert "put it in quotes" in str(caught.value.hint)
