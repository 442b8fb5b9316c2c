"""What `validate` warns of: it is allowed, and probably not meant."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.catalog import Catalog
from sluiceway.domain.model import Model, ModelVersion, Price
from sluiceway.planning import StagePlan, plan
from sluiceway.planning.warnings import MANY, needed, warnings
from sluiceway.settings import parse
from tests.contract.make_rollout import ONE, planned
from tests.unit.planning.test_plan import ACCOUNT

CANARY: dict[str, Any] = {"strategy": "canary", **ONE}
USUAL = ("errors", "first_token", "latency", "json", "empty", "refusals", "guard")
ROLLOUT = "here: config.sluiceway:models.chat.rollout"


def warned(rollout: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.path.removeprefix(ROLLOUT), one.message) for one in warnings(planned(rollout), "here")]


@pytest.mark.parametrize(
    "rollout",
    [
        CANARY,
        {"strategy": "blue-green", **ONE},
        {"strategy": "shadow", **ONE, "gates": {"errors": {"margin": 0}}},
        {"strategy": "ab", "stable": "chat@1", "arms": [{"version": "chat@2", "weight": 5}]},
        {**CANARY, "gates": {"errors": {"margin": 0, "mode": "observe"}}},
        {**CANARY, "gates": {"golden": {"margin": 0}}},
        {**CANARY, "gates": {**dict.fromkeys(USUAL, "off"), "golden": {}}},
    ],
)
def test_a_rollout_that_can_end_well_gives_no_warning(rollout: dict[str, Any]) -> None:
    assert warned(rollout) == []


def test_a_gate_without_a_margin_can_not_pass() -> None:
    told = "errors can't pass at a margin of 0, however many requests there are"
    assert warned({**CANARY, "gates": {"errors": {"margin": 0}}}) == [(".gates.errors.margin", told)]


def test_a_margin_of_one_step_is_told_where_it_stands() -> None:
    steps = [{"weight": 10}, {"weight": 100, "margins": {"latency": 0}}]
    told = "latency can't pass at a margin of 0, however many requests there are"
    assert warned({**CANARY, "steps": steps}) == [(".steps[1].margins.latency", told)]


def test_a_very_small_margin_is_told_with_what_it_needs() -> None:
    told = "guard needs at least 29,956 candidate requests at this margin"
    assert warned({**CANARY, "gates": {"guard": {"margin": 0.0001}}}) == [(".gates.guard.margin", told)]
    assert MANY < 29_956
    assert warned({**CANARY, "gates": {"guard": {"margin": 0.001}}}) == []  # 2,995


def test_ro_01_a_last_step_that_nothing_can_judge_is_told() -> None:
    told = "at 100 % nothing of stable is left to compare with, so the last step can't pass"
    assert warned({**CANARY, "control": 0}) == [(".control", told)]
    assert warned({"strategy": "blue-green", **ONE, "control": 0}) == [(".control", told)]


def test_a_step_that_asks_for_what_the_control_keeps_is_told() -> None:
    steps = [{"weight": 50}, {"weight": 60}, {"weight": 100}]
    told = "the candidate gets 50 % in this step, as at 100: control keeps 50 % with stable"
    assert warned({**CANARY, "control": 50, "steps": steps}) == [(".steps[1].weight", told)]
    assert warned({**CANARY, "control": 40, "steps": steps}) == []


def test_a_promotion_that_no_gate_can_stop_is_told() -> None:
    told = "no gate is enforced, so the candidate is promoted by the clock alone"
    assert warned({**CANARY, "gates": dict.fromkeys(USUAL, "off")}) == [(".gates", told)]
    assert warned({**CANARY, "gates": {name: {"mode": "observe"} for name in USUAL}}) == [(".gates", told)]


@pytest.mark.parametrize(
    ("rollout", "text"),
    [
        (CANARY, "at 1 % errors needs at least 149 candidate requests at a margin of 0.02, of 14,900 in all"),
        (
            {**CANARY, "steps": [{"weight": 10, "margins": dict.fromkeys(["errors", "json", "empty", "guard"], 0.05)}]},
            "at 10 % errors needs at least 59 candidate requests at a margin of 0.05, of 590 in all",
        ),
        (
            {"strategy": "blue-green", **ONE, "control": 50},
            "at 100 % errors needs at least 149 candidate requests at a margin of 0.02, of 298 in all",
        ),
        ({"strategy": "shadow", **ONE}, None),
    ],
)
def test_what_the_first_step_needs_is_told_without_knowing_the_traffic(rollout: dict[str, Any], text: str) -> None:
    spec = planned(rollout).models[0].rollout
    assert spec is not None
    assert needed(spec) == text


def stage(*versions: ModelVersion, **stated: object) -> StagePlan:
    catalog = Catalog((Model("far", "chat", False, versions),))
    models = {"far": {"split": [{"version": "far@1", "weight": 100}]}}
    return plan(parse({"account_id": ACCOUNT, "models": models, **stated}, "here", stage="dev"), catalog)


def far(number: int, price: Price | None = None) -> ModelVersion:
    return ModelVersion("far", number, "openai", "x", base_url="https://up.test/v1", price=price)


BUDGETS = {"limits": [{"scope": "stage", "period": "day", "usd": 5}]}


def test_a_version_that_every_budget_counts_as_free_is_told() -> None:
    (only,) = warnings(stage(far(1, Price(1, 2)), far(2), budgets=BUDGETS), "here")
    assert only.path == "here: config.sluiceway:budgets"
    assert only.message == "far@2 has no price, so every budget counts it as free"
    assert only.hint == "add price: to it in models/far.yaml, with the US dollars for a million tokens"
    assert only.render() == f"warning: {only.path}: {only.message}\nhint: {only.hint}"


def test_without_a_budget_or_with_every_price_nothing_is_told() -> None:
    assert warnings(stage(far(1)), "here") == ()
    assert warnings(stage(far(1, Price(0, 0)), budgets=BUDGETS), "here") == ()


def test_what_runs_in_the_stage_itself_needs_no_price() -> None:
    onnx = ModelVersion("far", 2, "onnx")
    assert warnings(stage(far(1, Price(1, 2)), onnx, budgets=BUDGETS), "here") == ()


EMBED = "here: config.sluiceway:models.near"


def vectors(stated: dict[str, Any], *ids: str) -> list[tuple[str, str]]:
    versions = tuple(ModelVersion("near", at, "workers-ai", id) for at, id in enumerate(ids, 1))
    catalog = Catalog((Model("near", "embed", False, versions),))
    mapping = {"account_id": ACCOUNT, "models": {"near": stated}}
    found = warnings(plan(parse(mapping, "here", stage="dev"), catalog), "here")
    return [(one.path.removeprefix(EMBED), one.message) for one in found]


BOTH: dict[str, Any] = {"split": [{"version": "near@1", "weight": 90}, {"version": "near@2", "weight": 10}]}
BY_CANARY: dict[str, Any] = {"rollout": {"strategy": "canary", "stable": "near@1", "candidate": "near@2"}}
MIXED = "vectors of near@1 (@cf/baai/bge-m3) and near@2 (other) can't be compared"


def test_vectors_of_two_models_under_one_name_are_told() -> None:
    assert vectors(BOTH, "@cf/baai/bge-m3", "other") == [(".split", MIXED)]
    assert vectors(BY_CANARY, "@cf/baai/bge-m3", "other") == [(".rollout", MIXED)]


def test_one_embedding_model_at_two_places_is_no_mixture_nor_is_a_version_that_nobody_gets() -> None:
    assert vectors(BY_CANARY, "@cf/baai/bge-m3", "BAAI/bge-m3") == []
    assert vectors({"split": [{"version": "near@1", "weight": 100}]}, "@cf/baai/bge-m3", "other") == []
