"""What the gateway does around a model, decided; the Worker assumes the same (tests/contract/policies.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluiceway.errors import UserError
from tests.unit.planning.test_plan import planned

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
