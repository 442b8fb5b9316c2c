"""How a new worker version comes to serve: what a stack file may say, and what is decided else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway import settings
from sluiceway.errors import UserError
from sluiceway.planning.releases import ReleasePlan, release
from sluiceway.settings import Settings

ACCOUNT = "0123456789abcdef0123456789abcdef"


def parse(block: dict[str, Any]) -> Settings:
    stated = {"sluiceway:account_id": ACCOUNT, "sluiceway:release": json.dumps(block)}
    return settings.parse(stated, "stacks/Pulumi.staging.yaml", stage="staging")


def test_without_a_word_an_update_deploys_at_once() -> None:
    assert release(parse({}).release) == ReleasePlan(False, (1, 10, 50, 100), 600, 0.02, None)


def test_a_ramp_is_read_with_its_times() -> None:
    stated = {"ramp": [5, 100], "hold": "2m", "margin": 0.05, "latency": "30s"}
    assert release(parse(stated).release) == ReleasePlan(True, (5, 100), 120, 0.05, 30)


@pytest.mark.parametrize("ramp", [[], [10, 5, 100], [1, 10], [10, 10, 100], [0, 100], [1, 101], ["1", 100], [1.5, 100]])
def test_steps_that_do_not_rise_to_100_are_refused_with_their_path(ramp: list[object]) -> None:
    with pytest.raises(UserError) as refused:
        parse({"ramp": ramp})
    assert (refused.value.path or "").startswith("stacks/Pulumi.staging.yaml: config.sluiceway:release.ramp")
    assert refused.value.hint


def test_an_unknown_key_is_refused_by_its_name() -> None:
    with pytest.raises(UserError) as refused:
        parse({"ramps": [1, 100]})
    assert "ramps" in str(refused.value)
