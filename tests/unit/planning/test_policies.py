"""What the gateway does around a model, decided; the Worker assumes the same (tests/contract/policies.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluiceway import settings
from sluiceway.catalog import Catalog
from sluiceway.domain.model import ArtifactFile, Model, ModelVersion
from sluiceway.errors import UserError
from sluiceway.planning import plan
from tests.unit.planning.test_plan import ACCOUNT, CATALOG, planned

DEFAULTS = json.loads((Path(__file__).parents[2] / "contract/policies.json").read_text("utf-8"))
INTENT = {
    "chat": {"split": [{"version": "chat@1", "weight": 100}]},
    "intent": {"split": [{"version": "intent@1", "weight": 100}]},
}


def test_what_a_stage_leaves_unsaid_is_what_the_worker_assumes() -> None:
    document = planned().config_document("r-0")
    assert {block: document[block] for block in DEFAULTS} == DEFAULTS


def test_how_long_a_model_may_take_reaches_the_worker() -> None:
    found = planned(timeouts={"first_token_ms": 20_000, "stream_ms": 1_200_000}).config_document("r-0")
    assert found["timeouts"] == {**DEFAULTS["timeouts"], "first_token_ms": 20_000, "stream_ms": 1_200_000}


def test_what_is_stated_reaches_the_worker() -> None:
    issuer = {
        "issuer": "https://id.example.com",
        "jwks_uri": "https://id.example.com/jwks",
        "audience": ["gateway"],
        "team_claim": "team",
    }
    found = planned(
        budgets={"limits": [{"scope": "key", "period": "day", "usd": 5, "fall_to": "chat@1"}], "webhook": "HOOK"},
        secrets=["API_KEY", "HOOK", "OTLP", "SENTRY_DSN"],
        guard={"mode": "block", "blocklist": ["forbidden", "禁词"]},
        telemetry={"otlp": {"endpoint": "https://otlp.example.com/v1/traces", "secret": "OTLP"}, "sentry": True},
        conversations={"enabled": True, "summary_model": "chat"},
        auth={"issuers": [issuer], "access": {"team_domain": "https://t.example.com", "audience": ["a"]}},
    ).config_document("r-0")
    assert found["budgets"] == {
        "limits": [{"scope": "key", "period": "day", "usd": 5, "fall_to": "chat@1"}],
        "webhook": "HOOK",
    }
    assert found["guard"] == {**DEFAULTS["guard"], "mode": "block", "blocklist": ["forbidden", "禁词"]}
    assert found["telemetry"] == {
        "otlp": {"endpoint": "https://otlp.example.com/v1/traces", "share": 1.0, "secret": "OTLP"},
        "sentry": True,
    }
    assert found["conversations"] == {**DEFAULTS["conversations"], "enabled": True, "summary_model": "chat"}
    assert found["auth"] == {
        "required": True,
        "keys": True,
        "issuers": [
            {
                **issuer,
                "algorithms": ["RS256", "ES256"],
                "leeway": 60,
                "subject_claim": "sub",
                "models_claim": None,
            }
        ],
        "access": {"team_domain": "https://t.example.com", "audience": ["a"]},
    }


@pytest.mark.parametrize(
    ("stated", "path", "message"),
    [
        (
            {"budgets": {"limits": [{"scope": "key", "period": "day", "usd": 1, "fall_to": "chaat"}]}},
            "budgets.limits[0].fall_to",
            "a model that this stage doesn't serve",
        ),
        ({"conversations": {"summary_model": "chat@99"}}, "conversations.summary_model", "chat@99"),
        ({"cache": {"semantic": {"model": "intent"}}, "models": INTENT}, "cache.semantic.model", "of task embed"),
        ({"budgets": {"webhook": "HOOK"}}, "budgets.webhook", "a secret that the Worker isn't given"),
        (
            {"telemetry": {"otlp": {"endpoint": "https://o.example.com", "secret": "OTLP"}}},
            "telemetry.otlp.secret",
            "a secret that the Worker isn't given",
        ),
        ({"telemetry": {"sentry": True}}, "telemetry.sentry", "a secret that the Worker isn't given"),
    ],
)
def test_what_a_policy_names_must_exist(stated: dict[str, object], path: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        planned("dev", **stated)
    assert f"sluiceway:{path}" in str(caught.value) or f"sluiceway.{path}" in str(caught.value)
    assert message in str(caught.value)
    assert caught.value.hint


JUDGED = {
    "chat": {"split": [{"version": "chat@1", "weight": 100}]},
    "injection": {"split": [{"version": "injection@1", "weight": 100}]},
}


def test_the_guard_s_classifier_reaches_the_worker_with_its_files_and_not_unless_it_is_named() -> None:
    found = planned(models=JUDGED, guard={"injection": {"classifier": "injection@1"}})
    assert found.policies.document("guard")["guard"] == {
        **DEFAULTS["guard"],
        "injection": {"classifier": "injection@1", "threshold": 0.8},
    }
    assert {one.name for one in found.artifacts if one.model == "injection"} == {"model.onnx", "manifest.json"}
    assert planned(models=JUDGED).policies.guard.injection is None


@pytest.mark.parametrize(
    ("injection", "fault"),
    [
        ({"threshold": 0.8}, "guard.injection.classifier: is required"),
        ({"classifier": "injection@1", "threshold": 2}, "guard.injection.threshold: must be at most 1"),
        ({"classifier": "injection@2"}, "guard.injection.classifier: "),
        ({"classifier": "router"}, "guard.injection.classifier: names a model that this stage doesn't serve"),
        ({"classifier": "chat@1"}, "guard.injection.classifier: needs a model of task classify"),
    ],
)
def test_a_classifier_that_the_guard_can_not_ask_is_refused_with_its_path(injection: object, fault: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(models=JUDGED, guard={"injection": injection})
    assert str(caught.value).startswith(f"here: config.sluiceway:{fault}")
    assert caught.value.hint


def test_the_semantic_cache_takes_an_encoder_that_runs_beside_the_gateway() -> None:
    files = tuple(
        ArtifactFile(name, f"artifacts/near/1/{name}", "a" * 64, 9) for name in ("model.onnx", "tokenizer.json")
    )
    near = Model("near", "embed", False, (ModelVersion("near", 1, "onnx", files=files),))
    models = {"chat": JUDGED["chat"], "near": {"split": [{"version": "near@1", "weight": 100}]}}
    stated = {"account_id": ACCOUNT, "models": models, "cache": {"enabled": True, "semantic": {"model": "near"}}}
    found = plan(settings.parse(stated, "here", stage="dev"), Catalog((*CATALOG.models, near)))
    assert found.config_document("r-0")["cache"]["semantic"]["model"] == "near"  # type: ignore[call-overload, index]
    assert "INFERENCE" in {binding.name for binding in found.bindings}
