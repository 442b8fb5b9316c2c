"""Deployments, bodies, retries, and what is told when something is wrong."""

from __future__ import annotations

import asyncio

import pytest
from pulumi.provider.experimental import provider as api

from sluiceway.errors import SluicewayError, UserError
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import ACCOUNT, ZONE, Driver, Refused, body_of
from tests.unit.provider.samples import SAMPLES

CRONS = SAMPLES["WorkersCronTrigger"]


def test_a_deployment_is_an_event(driver: Driver, fake: FakeCloudflare) -> None:
    wanted = SAMPLES["WorkersDeployment"]
    made = driver.create("WorkersDeployment", wanted)
    driver.create("WorkersDeployment", wanted, "later")
    fresh = driver.refresh(made)
    assert fresh is not None
    assert driver.changed(fresh, wanted) == [], "a later deployment is not drift of this one"
    swapped = {**wanted, "versions": wanted["versions"][::-1]}
    diff = driver.diff(fresh, swapped)
    assert diff.replaces == ["versions"]
    fake.calls.clear()
    driver.delete(made)
    assert fake.calls == []


@pytest.mark.parametrize("shares", [[100, 1], [99], [50, 25, 25]])
def test_a_deployment_that_cloudflare_would_refuse_is_refused_first(driver: Driver, shares: list[int]) -> None:
    versions = [{"versionId": f"v{index}", "percentage": share} for index, share in enumerate(shares)]
    with pytest.raises(Refused) as refused:
        driver.check("WorkersDeployment", {**SAMPLES["WorkersDeployment"], "versions": versions})
    assert "versions" in refused.value.faults


def test_a_share_that_the_official_provider_refuses_is_refused_here_too(driver: Driver) -> None:
    versions = [{"versionId": "v1", "percentage": 100}, {"versionId": "v2", "percentage": 0}]
    with pytest.raises(Refused) as refused:
        driver.check("WorkersDeployment", {**SAMPLES["WorkersDeployment"], "versions": versions})
    assert list(refused.value.faults) == ["versions[1].percentage"]


def test_busy_api_is_asked_again(driver: Driver, fake: FakeCloudflare) -> None:
    fake.faults += [("POST", 429, 971, "slow down"), ("POST", 500, 0, "")]
    driver.create("Queue", SAMPLES["Queue"])
    assert driver.waits == [0.5, 1.0]


def test_a_wrong_account_does_not_empty_the_state(driver: Driver, fake: FakeCloudflare) -> None:
    made = driver.create("Queue", SAMPLES["Queue"])
    fake.faults.append(("GET", 404, 7003, "Could not route"))
    with pytest.raises(SluicewayError, match="error 7003"):
        driver.refresh(made)


def test_an_unknown_resource_is_refused_with_what_there_is(driver: Driver) -> None:
    request = api.CheckRequest("urn:pulumi:s::p::cloudflare:index/zone:Zone::z", {}, {}, b"")
    with pytest.raises(UserError, match="has no resource cloudflare:index/zone:Zone") as refused:
        asyncio.run(driver.provider.check(request))
    assert refused.value.hint and "R2Bucket" in refused.value.hint


@pytest.mark.parametrize(
    ("kind", "rid"), [("Queue", "onlyone"), ("Ruleset", "z/1"), ("R2Bucket", "/x"), ("Ruleset", "shops/1/2")]
)
def test_a_malformed_import_id_is_refused_with_its_form(driver: Driver, kind: str, rid: str) -> None:
    with pytest.raises(UserError, match="import id of"):
        driver.imported(kind, rid)


def test_kv_keys_are_encoded_once(driver: Driver, fake: FakeCloudflare) -> None:
    driver.create("WorkersKv", SAMPLES["WorkersKv"])
    assert fake.writes() == [f"PUT /accounts/{ACCOUNT}/storage/kv/namespaces/n1/values/rollouts%2Fchat"]


def test_bodies_are_those_of_the_official_provider(driver: Driver, fake: FakeCloudflare) -> None:
    driver.create("Worker", SAMPLES["Worker"])
    driver.create("R2Bucket", {"accountId": ACCOUNT, "name": "models", "location": "weur"})
    driver.create("WorkersCronTrigger", CRONS)
    driver.create("AiGateway", SAMPLES["AiGateway"])
    account = f"/accounts/{ACCOUNT}"
    assert body_of(fake, f"POST {account}/workers/workers") == {
        "name": "gateway",
        "logpush": False,
        "tags": [],
        "tail_consumers": [],
        "subdomain": {"enabled": True, "previews_enabled": False},
        "observability": {
            "enabled": False,
            "head_sampling_rate": 1,
            "traces": {"enabled": False, "head_sampling_rate": 1, "persist": True},
        },
    }
    assert body_of(fake, f"POST {account}/r2/buckets") == {
        "name": "models",
        "locationHint": "weur",
        "storageClass": "Standard",
    }
    assert body_of(fake, f"PUT {account}/workers/scripts/gateway/schedules") == CRONS["schedules"]
    assert body_of(fake, f"POST {account}/ai-gateway/gateways") == {
        "id": "gateway",
        "cache_ttl": 300,
        "cache_invalidate_on_update": True,
        "collect_logs": True,
        "rate_limiting_interval": 60,
        "rate_limiting_limit": 100,
        "rate_limiting_technique": "fixed",
        "workers_ai_billing_mode": "postpaid",
    }


def test_the_rules_sent_are_those_of_the_official_provider(driver: Driver, fake: FakeCloudflare) -> None:
    driver.create("Ruleset", SAMPLES["Ruleset"])
    (sent,) = body_of(fake, f"POST /zones/{ZONE}/rulesets")["rules"]
    assert sent == {
        "ref": "one",
        "action": "block",
        "action_parameters": {},
        "expression": sent["expression"],
        "description": "",
        "enabled": True,
        "ratelimit": {
            "characteristics": ["ip.src", "cf.colo.id"],
            "period": 10,
            "requests_per_period": 20,
            "mitigation_timeout": 10,
            "requests_to_origin": False,
        },
    }
