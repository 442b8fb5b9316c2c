"""A rollout that a stack file declares, with every default decided, as the Worker reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway import settings
from sluiceway.catalog import Catalog
from sluiceway.domain.model import Model, ModelVersion
from sluiceway.domain.release import canonical
from sluiceway.domain.rollout import GATES
from sluiceway.errors import UserError
from sluiceway.planning import StagePlan, plan
from tests.contract.make_rollout import ONE, PATH, case, planned
from tests.unit.planning.test_plan import ACCOUNT
from tests.unit.planning.test_plan import planned as of_this_repository

CASES: list[dict[str, Any]] = json.loads(PATH.read_text("utf-8"))["cases"]
CANARY = {"strategy": "canary", **ONE}
ROOT = "here: config.sluiceway:"


@pytest.mark.parametrize("known", CASES, ids=[known["name"] for known in CASES])
def test_what_a_stack_file_states_becomes_what_the_worker_is_told(known: dict[str, Any]) -> None:
    found = case(known["name"], known["stated"])
    assert found == known
    assert found["split"][0][0] == found["rollout"]["stable"]
    assert sum(weight for _, weight in found["split"]) == 100


def rollout(**stated: object) -> dict[str, Any]:
    """``models.chat.rollout`` of a canary with ``stated`` besides."""
    found: dict[str, Any] = planned({**CANARY, **stated}).models_document()["chat"]["rollout"]  # type: ignore[index,call-overload,assignment]
    return found


def test_the_defaults_are_those_that_were_measured() -> None:
    found = rollout()
    assert (found["alpha"], found["beta"], found["absolute"]) == (0.01, 0.05, 0.2)
    assert (found["min_fail"], found["min_bad"], found["min_pass"]) == (10, 3, 50)
    assert [(gate["name"], gate["margin"], gate["slo"]) for gate in found["gates"]] == [
        ("errors", 0.02, None),
        ("first_token", 0.05, 5),
        ("latency", 0.05, 60),
        ("json", 0.02, None),
        ("empty", 0.02, None),
        ("refusals", 0.05, None),
        ("guard", 0.02, None),
    ]
    assert {gate["mode"] for gate in found["gates"]} == {"enforce"}
    assert [(step["weight"], step["hold_s"]) for step in found["steps"]] == [(w, 1_800) for w in (1, 10, 50, 100)]
    assert (found["on_fail"], found["no_control"], found["attempt"], found["checks"]) == ("rollback", "hold", 1, [])
    assert (found["control"], found["watch_s"], found["warm_s"], found["mirror"]) == (5, 3_600, 0, 0)


def test_ro_01_all_of_it_is_judged_too_where_the_steps_stop_before() -> None:
    steps = [{"weight": 10, "hold": "1h"}, {"weight": 50, "hold": "2h", "approval": True, "margins": {"errors": 0.1}}]
    *stated, added = rollout(steps=steps)["steps"]
    assert [step["weight"] for step in stated] == [10, 50]
    assert added == {"weight": 100, "hold_s": 7_200, "approval": False, "margins": {}}


def test_a_named_gate_changes_itself_alone_and_off_takes_one_out() -> None:
    before = {gate["name"]: gate for gate in rollout()["gates"]}
    after = {gate["name"]: gate for gate in rollout(gates={"errors": {"margin": 0.01}, "json": "off"})["gates"]}
    assert after["errors"] == {**before["errors"], "margin": 0.01}
    assert set(before) - set(after) == {"json"}
    assert all(after[name] == before[name] for name in set(after) - {"errors"})


def test_gates_stand_in_one_order_however_they_were_written() -> None:
    one = rollout(gates={"golden": {}, "cost": {"slo": 1}, "errors": {"margin": 0.1}})
    two = rollout(gates={"errors": {"margin": 0.1}, "golden": {}, "cost": {"slo": 1}})
    assert canonical(one) == canonical(two)
    names = [gate["name"] for gate in one["gates"]]
    assert names == [name for name in GATES if name in names]


def test_a_stated_default_is_the_same_release_as_one_left_out() -> None:
    assert canonical(rollout(gates={"latency": {"slo": 60}})) == canonical(rollout())


def test_a_model_without_a_rollout_has_no_such_key_and_the_stage_none() -> None:
    document = of_this_repository().config_document("r-0")
    assert "rollouts" not in document
    assert set(document["models"]["chat"]) == {"task", "versions", "split", "default", "fallback"}  # type: ignore[index,call-overload,arg-type]


def test_a_rollout_is_part_of_the_release() -> None:
    assert planned(CANARY).release_inputs() != planned({**CANARY, "attempt": 2}).release_inputs()


def test_who_is_told_is_the_name_of_a_bound_secret_and_no_part_of_the_release() -> None:
    plain = of_this_repository(secrets=["API_KEY", "HOOK"])
    told = of_this_repository(secrets=["API_KEY", "HOOK"], rollouts={"webhook": "HOOK"})
    assert told.config_document("r-0")["rollouts"] == {"webhook_secret": "HOOK", "format": "json"}
    assert told.release_inputs() == plain.release_inputs()
    slack = of_this_repository(secrets=["API_KEY", "HOOK"], rollouts={"webhook": "HOOK", "format": "slack"})
    assert slack.config_document("r-0")["rollouts"] == {"webhook_secret": "HOOK", "format": "slack"}


def test_equal_requests_wait_for_one_as_long_as_is_stated() -> None:
    assert of_this_repository().config_document("r-0")["cache"]["coalesce_ms"] == 30_000  # type: ignore[index,call-overload]
    stated = of_this_repository(cache={"coalesce_ms": 0}).config_document("r-0")
    assert stated["cache"]["coalesce_ms"] == 0  # type: ignore[index,call-overload]


def classifier(rollout: dict[str, object]) -> StagePlan:
    versions = tuple(ModelVersion("sort", number, "onnx") for number in (1, 2))
    catalog = Catalog((Model("sort", "classify", False, versions),))
    mapping = {"account_id": ACCOUNT, "models": {"sort": {"rollout": rollout}}}
    return plan(settings.parse(mapping, "here", stage="dev"), catalog)


def test_a_model_of_another_task_is_judged_by_what_its_answers_have() -> None:
    found = classifier({"strategy": "canary", "stable": "sort@1", "candidate": "sort@2"}).models[0].rollout
    assert found is not None
    assert [gate.name for gate in found.gates] == ["errors", "latency", "empty", "guard"]


WRONG: list[tuple[dict[str, object], str, str]] = [
    (
        {"strategy": "canary", "stable": "chat@1", "candidate": "chat@9"},
        "models.chat.rollout.candidate: there is no model version chat@9",
        "known versions: chat@1, chat@2, chat@3; new ones are added in models/chat.yaml",
    ),
    (
        {"strategy": "canary", "stable": "chat@8", "candidate": "chat@2"},
        "models.chat.rollout.stable: there is no model version chat@8",
        "known versions: chat@1, chat@2, chat@3; new ones are added in models/chat.yaml",
    ),
    (
        {"strategy": "ab", "stable": "chat@1", "arms": [{"version": "chat@7", "weight": 5}]},
        "models.chat.rollout.arms[0].version: there is no model version chat@7",
        "known versions: chat@1, chat@2, chat@3; new ones are added in models/chat.yaml",
    ),
    (
        {**CANARY, "gates": {"json": "off"}, "steps": [{"weight": 10, "margins": {"json": 0.1}}]},
        "models.chat.rollout.steps[0].margins.json: this rollout has no gate json",
        "name one of errors, first_token, latency, empty, refusals, guard, or add json to gates",
    ),
]


@pytest.mark.parametrize(("stated", "message", "hint"), WRONG)
def test_what_a_rollout_names_must_exist(stated: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(stated)
    assert (str(caught.value), caught.value.hint, caught.value.exit_code) == (f"{ROOT}{message}", hint, 2)


def test_a_gate_that_would_never_be_given_a_request_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        classifier({"strategy": "canary", "stable": "sort@1", "candidate": "sort@2", "gates": {"json": {}}})
    told = f"{ROOT}models.sort.rollout.gates.json: a model of task classify is never judged by json"
    assert str(caught.value) == told
    assert caught.value.hint == 'take it out, or write json: "off": only the answers of a chat model have it'


def test_the_secret_of_the_webhook_must_be_bound() -> None:
    with pytest.raises(UserError) as caught:
        of_this_repository(rollouts={"webhook": "HOOK"})
    assert str(caught.value) == f"{ROOT}rollouts.webhook: names a secret that the Worker isn't given, got 'HOOK'"
    assert caught.value.hint == ("add HOOK to sluiceway:secrets, and its value by: sluiceway secrets set dev HOOK")


def test_a_candidate_whose_secret_is_not_bound_is_refused_before_it_gets_traffic() -> None:
    versions = (
        ModelVersion("far", 1, "openai", "a", base_url="https://up.test/v1"),
        ModelVersion("far", 2, "openai", "b", base_url="https://up.test/v1", secret="UP_KEY"),
    )
    models = {"far": {"rollout": {"strategy": "canary", "stable": "far@1", "candidate": "far@2"}}}
    catalog = Catalog((Model("far", "chat", False, versions),))
    with pytest.raises(UserError) as caught:
        plan(settings.parse({"account_id": ACCOUNT, "models": models}, "here", stage="dev"), catalog)
    told = f"{ROOT}models.far.rollout.candidate: far@2 needs a secret that the Worker isn't given, got 'UP_KEY'"
    assert str(caught.value) == told


ASKED = {"messages": [{"role": "user", "content": "Who?"}], "max_tokens": 256}


def test_probes_are_off_and_no_part_of_the_config_unless_they_are_stated() -> None:
    found = rollout()
    assert "probes" not in found
    assert "probes" not in [gate["name"] for gate in found["gates"]]
    assert "probes" not in planned(CANARY).models_document()["chat"]  # type: ignore[operator]


def test_probes_bring_their_gate_along_and_their_cost_is_capped() -> None:
    found = rollout(probes={"every": "1m"})
    assert found["probes"] == {"every_s": 60, "usd": 0.1}
    assert found["gates"][-1] == {"name": "probes", "margin": 0.05, "slo": None, "mode": "enforce"}
    assert rollout(probes={"cost": 2})["probes"] == {"every_s": 30, "usd": 2.0}
    assert rollout(probes={}, gates={"probes": {"mode": "observe"}})["gates"][-1]["mode"] == "observe"
    (sentence,) = planned({**CANARY, "probes": {}}).rollout_sentences()
    assert sentence.endswith("at least 2 h; a probe of each every 30 s")


def with_probes(golden: dict[str, list[dict[str, object]]] | None) -> StagePlan:
    stated = {"strategy": "canary", "stable": "chat@1", "candidate": "chat@2", "probes": {}}
    models = {"chat": {"rollout": stated}}
    versions = tuple(ModelVersion("chat", number, "workers-ai", "@cf/a/b") for number in (1, 2))
    return plan(
        settings.parse({"account_id": ACCOUNT, "models": models}, "here", stage="dev"),
        Catalog((Model("chat", "chat", True, versions),)),
        golden,
    )


def test_what_probes_ask_goes_with_the_config_of_their_model() -> None:
    assert with_probes({"chat": [ASKED]}).models_document()["chat"]["probes"] == [ASKED]  # type: ignore[index,call-overload]


@pytest.mark.parametrize("golden", [{}, {"chat": []}, {"other": [ASKED]}])
def test_probes_of_a_model_without_golden_prompts_are_refused(golden: dict[str, list[dict[str, object]]]) -> None:
    with pytest.raises(UserError) as caught:
        with_probes(golden)
    assert str(caught.value) == f"{ROOT}models.chat.rollout.probes: chat has no golden prompts to ask"
    assert caught.value.hint == "write some into models/golden/chat.jsonl, or take probes out"


def test_probes_of_a_model_that_answers_no_prompts_are_refused() -> None:
    with pytest.raises(UserError, match=r"rollout\.probes: a model of task classify answers no prompts"):
        classifier({"strategy": "canary", "stable": "sort@1", "candidate": "sort@2", "probes": {}})
