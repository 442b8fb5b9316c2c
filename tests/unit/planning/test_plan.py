from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from sluiceway import catalog, settings
from sluiceway.domain.release import canonical, release_id
from sluiceway.domain.stage import LOCAL_ACCOUNT
from sluiceway.errors import UserError
from sluiceway.planning import Ref, StagePlan, plan
from sluiceway.workspace import Workspace

HERE = Workspace(Path(__file__).parents[3])
CATALOG = catalog.load(HERE)
STAGES = settings.stages(HERE)
ACCOUNT = "0123456789abcdef0123456789abcdef"
ZONE = {"name": "example.com", "id": "0123456789abcdef0123456789abcdee"}
CHAT = {"chat": {"split": [{"version": "chat@1", "weight": 100}]}}


def planned(stage: str = "dev", **stated: object) -> StagePlan:
    mapping: dict[str, object] = {"account_id": ACCOUNT, "models": CHAT, **stated}
    return plan(settings.parse(mapping, "here", stage=stage), CATALOG)


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_of_this_repository_has_a_plan(stage: str) -> None:
    found = plan(settings.load(HERE, stage), CATALOG)
    assert [model.name for model in found.models] == ["chat", "embed", "intent"]
    assert {artifact.name for artifact in found.artifacts} == {"model.onnx", "manifest.json"}
    for artifact in found.artifacts:
        assert (HERE.root / artifact.source_path).stat().st_size == artifact.bytes
        assert artifact.sha256 in artifact.key


def owned(stage: str) -> set[str]:
    found = plan(settings.load(HERE, stage), CATALOG)
    by_name = {binding.name: binding.fields for binding in found.bindings}
    names = [found.worker_name, found.kv.title, found.bucket.name, found.queue.name, by_name["METRICS"]["dataset"]]
    names += [rule.ref for rule in found.rate_limit_rules]
    assert all(stage in str(name) for name in names)
    return {str(name) for name in names} | {str(by_name["RATE_LIMIT"]["namespace_id"])}


def test_wr_02_no_stage_owns_a_thing_of_another_stage() -> None:
    seen: set[str] = set()
    for stage in STAGES:
        mine = owned(stage)
        assert not mine & seen
        seen |= mine


def test_wr_02_nothing_of_production_stands_in_another_stages_plan() -> None:
    for stage in STAGES:
        text = repr(plan(settings.load(HERE, stage), CATALOG))
        assert (LOCAL_ACCOUNT in text) == (stage == "local")
        assert [other for other in STAGES if f"sluiceway-{other}" in text or f"sluiceway_{other}" in text] == [stage]


def test_what_a_stage_leaves_unsaid_is_decided_here() -> None:
    found = planned()
    assert (found.worker_name, found.workers_dev, found.previews, found.zone) == ("sluiceway-dev", True, False, None)
    assert (found.bucket.name, found.bucket.location, found.bucket.jurisdiction, found.bucket.retain) == (
        "sluiceway-dev-models",
        None,
        "default",
        True,
    )
    assert found.bucket.lifecycle[0].abort_multipart_after == 7 * 86_400
    assert found.gateway is not None
    assert (found.gateway.id, found.gateway.rate_limiting_limit, found.gateway.rate_limiting_interval) == (
        "sluiceway-dev",
        0,
        0,
    )
    assert (found.auth.required, found.log.prompts, found.cors.origins) == (True, False, ())
    assert (found.limits.requests, found.limits.period, found.cache.ttl) == (600, 60, 300)
    assert found.secrets == ("API_KEY", "ADMIN_KEY")


def test_the_projects_defaults_decide_nothing_that_planning_decides_otherwise() -> None:
    mapping = {"account_id": ACCOUNT, "previews": True, "bucket": {"retain": False}}
    mapping["cors"] = {"origins": ["http://localhost:3000"]}
    dev = settings.load(HERE, "dev")
    models = {
        name: {"split": [{"version": weight.version, "weight": weight.weight} for weight in model.split or ()]}
        for name, model in dev.models.items()
    }
    bare = settings.parse({**mapping, "account_id": dev.account_id, "models": models}, dev.source, stage="dev")
    assert plan(bare, CATALOG) == plan(dev, CATALOG)


def test_a_stated_zero_or_false_is_not_taken_for_unsaid() -> None:
    found = planned(
        workers_dev=False,
        gateway={"enabled": False},
        cors={"max_age": 0},
        cache={"enabled": False},
        auth={"required": False},
        observability={"head_sampling_rate": 0},
    )
    assert (found.workers_dev, found.gateway, found.cors.max_age, found.cache.enabled) == (False, None, 0, False)
    assert (found.auth.required, found.observability.head_sampling_rate) == (False, 0)


def test_the_gateway_keeps_no_prompts_unless_prompts_may_be_logged() -> None:
    quiet, loud = planned().gateway, planned(log={"prompts": True}).gateway
    assert quiet and loud
    assert (quiet.collect_logs, loud.collect_logs) == (False, True)


def test_bindings_are_complete_sorted_and_refer_to_what_does_not_exist_yet() -> None:
    found = {binding.name: (binding.type, dict(binding.fields)) for binding in planned().bindings}
    assert list(found) == sorted(found)
    assert found == {
        "ADMIN_KEY": ("secret_text", {"text": Ref("secret", "ADMIN_KEY")}),
        "AI": ("ai", {}),
        "API_KEY": ("secret_text", {"text": Ref("secret", "API_KEY")}),
        "CACHE": ("kv_namespace", {"namespace_id": Ref("kv", "id")}),
        "EVENTS": ("queue", {"queue_name": Ref("queue", "name")}),
        "CONVERSATIONS": ("durable_object_namespace", {"class_name": "Conversation"}),
        "KEYS": ("durable_object_namespace", {"class_name": "KeyRing"}),
        "LEDGER": ("durable_object_namespace", {"class_name": "Ledger"}),
        "METRICS": ("analytics_engine", {"dataset": "sluiceway_dev"}),
        "MODELS": ("r2_bucket", {"bucket_name": Ref("bucket", "name")}),
        "RATE_LIMIT": ("ratelimit", {"namespace_id": "1002", "simple": {"limit": 600, "period": 60}}),
        "ROLLOUTS": ("durable_object_namespace", {"class_name": "RolloutController"}),
        "VERSION": ("version_metadata", {}),
    }


def test_a_secret_can_have_the_name_of_no_binding() -> None:
    found = planned()
    for name in {binding.name for binding in found.bindings} - set(found.secrets):
        with pytest.raises(
            UserError, match=r"the Worker has a binding of this name|a secret has the name of a setting"
        ):
            planned(secrets=["API_KEY", name])


def test_tf_06_a_jurisdiction_is_carried_into_the_binding() -> None:
    found = planned(bucket={"jurisdiction": "EU", "location": "WEUR"})
    (models,) = (binding for binding in found.bindings if binding.name == "MODELS")
    assert dict(models.fields) == {"bucket_name": Ref("bucket", "name"), "jurisdiction": "eu"}
    assert (found.bucket.jurisdiction, found.bucket.location) == ("eu", "weur")


def test_a_zone_rule_covers_this_stages_hosts_and_no_other() -> None:
    rules = [{"name": "chat", "path": "/v1", "requests": 10, "period": 60, "timeout": 0}]
    found = planned(
        zone=ZONE,
        zone_rate_limits=rules,
        routes=["api.example.com/v1/*", "*.eu.example.com/*", "*x.example.com/*"],
        custom_domains=["chat.example.com"],
    )
    (rule,) = found.rate_limit_rules
    assert rule.expression == (
        '((http.host in {"api.example.com" "chat.example.com" "x.example.com"} '
        'or ends_with(http.host, ".eu.example.com") or ends_with(http.host, ".x.example.com")) '
        'and starts_with(http.request.uri.path, "/v1"))'
    )
    assert (rule.ref, rule.characteristics, rule.mitigation_timeout, rule.action) == (
        "sluiceway-dev-chat",
        ("cf.colo.id", "ip.src"),
        0,
        "block",
    )


@pytest.mark.parametrize(
    ("stated", "message", "hint"),
    [
        (
            {"models": {"chat": {"split": [{"version": "chat@9", "weight": 100}]}}},
            "here: config.sluiceway:models.chat.split[0].version: there is no model version chat@9",
            "known versions: chat@1, chat@2; new ones are added in models/chat.yaml",
        ),
        (
            {"models": {"chatt": {"split": [{"version": "chatt@1", "weight": 100}]}}},
            "here: config.sluiceway:models.chatt: there is no model 'chatt'",
            "did you mean chat? known models: chat, embed, injection, intent, router",
        ),
        (
            {"models": {}},
            "here: config.sluiceway:models: a stage serves at least one model",
            "take the key out to serve what Pulumi.yaml says, or give a split to one of: chat, embed, injection, "
            "intent, router",
        ),
        (
            {"secrets": ["API_KEY", "METRICS"]},
            "here: config.sluiceway:secrets: the Worker has a binding of this name, got 'METRICS'",
            "give the secret another name; taken are "
            "AI, CACHE, CONVERSATIONS, EVENTS, INFERENCE, KEYS, LEDGER, METRICS, MODELS, RATE_LIMIT, ROLLOUTS, VERSION",
        ),
    ],
)
def test_what_the_catalogue_has_not_is_refused(stated: dict[str, object], message: str, hint: str | None) -> None:
    with pytest.raises(UserError) as caught:
        planned("dev", **stated)
    assert (str(caught.value), caught.value.hint, caught.value.exit_code) == (message, hint, 2)


def test_the_workers_document_is_what_the_worker_reads() -> None:
    found = plan(settings.load(HERE, "local"), CATALOG)
    document = found.config_document("r-0123456789ab")
    assert sorted(document) == [
        "auth", "budgets", "cache", "conversations", "cors", "gateway", "guard", "limits", "log", "models", "release",
        "resilience", "stage", "telemetry", "timeouts", "worker",
    ]  # fmt: skip
    models = document["models"]
    assert isinstance(models, dict)
    chat, intent = models["chat"], models["intent"]
    assert isinstance(chat, dict) and isinstance(intent, dict)
    assert chat["split"] == [[1, 90], [2, 10]]
    assert (chat["default"], "default" in intent) == (True, False)
    assert json.loads(canonical(document)) == document


def test_a_release_changes_with_what_is_served_and_with_nothing_else() -> None:
    base = release_id(planned().release_inputs())
    same = [planned(crons=["* * * * *"]), planned(cors={"max_age": 1}), planned(previews=True), planned(log={})]
    assert {release_id(found.release_inputs()) for found in same} == {base}
    split = {"chat": {"split": [{"version": "chat@1", "weight": 99}, {"version": "chat@2", "weight": 1}]}}
    other = [
        planned(models=split),
        planned(limits={"body_bytes": 2048}),
        planned(cache={"ttl": 60}),
        planned("staging"),
    ]
    assert base not in {release_id(found.release_inputs()) for found in other}
    assert len({release_id(found.release_inputs()) for found in other}) == 4


def frozen(value: object) -> bool:
    if is_dataclass(value) and not isinstance(value, type):
        with pytest.raises(FrozenInstanceError):
            setattr(value, fields(value)[0].name, None)
        return all(frozen(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, tuple):
        return all(frozen(item) for item in value)
    if isinstance(value, MappingProxyType):
        return all(frozen(item) for item in value.values())
    return value is None or isinstance(value, str | int | float | bool)


def test_a_plan_is_frozen_all_the_way_down_and_the_same_each_time() -> None:
    found = plan(settings.load(HERE, "local"), CATALOG)
    assert frozen(found)
    assert found == plan(settings.load(HERE, "local"), catalog.load(HERE))
