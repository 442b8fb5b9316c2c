"""Buckets, rulesets, routes, custom domains and crons: cases from public bug reports."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.engine.provider.values import UNKNOWN
from sluiceway.errors import SluicewayError
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import ACCOUNT, ZONE, Driver, Refused
from tests.unit.provider.samples import SAMPLES, rule

ROUTE = SAMPLES["WorkersRoute"]
ROUTES = f"/zones/{ZONE}/workers/routes"
CRONS = SAMPLES["WorkersCronTrigger"]


@pytest.mark.parametrize("spelling", ["WEUR", "weur", "WeUr"])
def test_tf_06_location_case_never_changes_a_bucket(driver: Driver, fake: FakeCloudflare, spelling: str) -> None:
    made = driver.create("R2Bucket", {**SAMPLES["R2Bucket"], "location": "weur"})
    fresh = driver.refresh(made)
    assert fresh is not None
    for state in (made, fresh):
        assert driver.changed(state, {**SAMPLES["R2Bucket"], "location": spelling}) == []
    assert driver.changed(fresh, {key: item for key, item in SAMPLES["R2Bucket"].items() if key != "location"}) == []


def test_tf_06_another_location_is_refused_rather_than_deleting_the_models(driver: Driver) -> None:
    made = driver.create("R2Bucket", SAMPLES["R2Bucket"])
    with pytest.raises(Refused) as refused:
        driver.diff(made, {**SAMPLES["R2Bucket"], "location": "enam"})
    assert "fixed when a bucket is first made" in refused.value.faults["location"]


def test_tf_06_every_call_carries_the_jurisdiction(driver: Driver, fake: FakeCloudflare) -> None:
    """The fake knows a bucket only under its jurisdiction, so a call without it would fail."""
    bucket = driver.create("R2Bucket", SAMPLES["R2Bucket"])
    rules = driver.create("R2BucketLifecycle", SAMPLES["R2BucketLifecycle"])
    assert driver.refresh(bucket) and driver.refresh(rules)
    bucket = driver.update(bucket, {**SAMPLES["R2Bucket"], "storageClass": "InfrequentAccess"})
    assert driver.refresh(bucket) and fake.table("buckets")["eu/models"]["storage_class"] == "InfrequentAccess"
    driver.update(rules, {**SAMPLES["R2BucketLifecycle"], "rules": []})
    driver.delete(bucket)
    assert fake.table("buckets") == {}
    with pytest.raises(SluicewayError) as fault:
        driver.create("R2BucketLifecycle", {**SAMPLES["R2BucketLifecycle"], "jurisdiction": "default"})
    assert fault.value.hint and "jurisdiction" in fault.value.hint


def limits(name: str, *refs: str | None) -> dict[str, Any]:
    return {**SAMPLES["Ruleset"], "name": name, "rules": [rule(ref, f"/{ref}") for ref in refs]}


def refs_in(fake: FakeCloudflare) -> list[str]:
    (entry,) = fake.table("rulesets").values()
    return [item["ref"] for item in entry["rules"]]


@pytest.fixture
def by_hand(fake: FakeCloudflare) -> None:
    """A rule that somebody made in the dashboard."""
    fake.table("rulesets")["hand"] = {
        "id": "hand",
        "zone": ZONE,
        "kind": "zone",
        "phase": "http_ratelimit",
        "name": "default",
        "rules": [{"id": "r1", "ref": "theirs", "action": "block", "expression": "true", "version": "3"}],
    }


@pytest.mark.usefixtures("by_hand")
def test_tf_07_rules_join_the_entry_point_and_leave_it_alone(driver: Driver, fake: FakeCloudflare) -> None:
    chat = driver.create("Ruleset", limits("chat", "chat"), "chat")
    intent = driver.create("Ruleset", limits("intent", "intent"), "intent")
    assert refs_in(fake) == ["theirs", "chat", "intent"]
    for made, wanted in ((chat, limits("chat", "chat")), (intent, limits("intent", "intent"))):
        fresh = driver.refresh(made)
        assert fresh is not None
        assert driver.changed(fresh, wanted) == []
        assert [item["ref"] for item in fresh.state["rules"]] == [made.name]
    driver.delete(intent)
    assert refs_in(fake) == ["theirs", "chat"]
    assert fake.table("rulesets")["hand"]["rules"][0]["id"] == "r1", "their rule keeps its identity"
    assert fake.table("rulesets")["hand"]["name"] == "default"
    driver.delete(chat)
    assert refs_in(fake) == ["theirs"]


@pytest.mark.usefixtures("by_hand")
def test_tf_07_an_update_takes_back_only_own_rules(driver: Driver, fake: FakeCloudflare) -> None:
    made = driver.create("Ruleset", limits("chat", "one", "two"), "chat")
    made = driver.update(made, limits("chat", "two", "three"))
    assert refs_in(fake) == ["theirs", "two", "three"]
    assert driver.changed(made, limits("chat", "two", "three")) == []


def test_tf_07_the_last_owner_deletes_the_ruleset(driver: Driver, fake: FakeCloudflare) -> None:
    made = driver.create("Ruleset", limits("chat", None, None), "chat")
    assert refs_in(fake) == ["chat-0", "chat-1"], "rules without a ref get one, by which they are ours"
    driver.delete(made)
    assert fake.table("rulesets") == {}


def test_tf_07_a_rule_deleted_by_hand_is_drift(driver: Driver, fake: FakeCloudflare) -> None:
    made = driver.create("Ruleset", limits("chat", "one", "two"), "chat")
    (entry,) = fake.table("rulesets").values()
    del entry["rules"][1]
    fresh = driver.refresh(made)
    assert fresh is not None
    assert driver.changed(fresh, limits("chat", "one", "two")) == ["rules"]


def test_tf_08_a_route_of_our_own_moves_by_one_update(driver: Driver, fake: FakeCloudflare) -> None:
    driver.create("Worker", {"accountId": ACCOUNT, "name": "chat-blue"})
    blue = driver.create("WorkersRoute", {**ROUTE, "script": "chat-blue"}, "blue")
    fake.calls.clear()
    green = driver.create("WorkersRoute", {**ROUTE, "script": "chat-green"}, "green")
    assert fake.writes() == [f"POST {ROUTES}", f"PUT {ROUTES}/{blue.rid}"]
    assert green.rid == blue.rid
    driver.delete(blue)
    assert fake.table("routes")[green.rid]["script"] == "chat-green", "the old owner's delete leaves it alone"


def test_tf_08_the_same_resource_moves_by_put(driver: Driver, fake: FakeCloudflare) -> None:
    made = driver.create("WorkersRoute", ROUTE)
    diff = driver.diff(made, {**ROUTE, "script": "chat-green"})
    assert (diff.diffs, diff.replaces) == (["script"], [])
    fake.calls.clear()
    driver.update(made, {**ROUTE, "script": "chat-green"})
    assert fake.writes() == [f"PUT {ROUTES}/{made.rid}"]


@pytest.mark.parametrize("way", ["preview", "create"])
def test_tf_08_a_route_of_somebody_elses_worker_is_never_taken(driver: Driver, fake: FakeCloudflare, way: str) -> None:
    fake.table("routes")["r9"] = {"id": "r9", "pattern": ROUTE["pattern"], "script": "their-site"}
    with pytest.raises(SluicewayError) as fault:
        getattr(driver, way)("WorkersRoute", ROUTE)
    assert "belongs to Worker 'their-site'" in str(fault.value)
    assert str(fault.value).startswith("WorkersRoute 'it': ")
    assert fault.value.hint and f"{ZONE}/r9" in fault.value.hint
    assert fake.table("routes")["r9"]["script"] == "their-site"


def test_tf_08_a_preview_needs_no_right_to_read_routes(driver: Driver, fake: FakeCloudflare) -> None:
    fake.faults.append((f"GET {ROUTES}", 403, 10000, "Authentication error"))
    assert driver.preview("WorkersRoute", ROUTE) == ROUTE


@pytest.mark.parametrize(
    ("kind", "name", "bad"),
    [
        ("WorkersCustomDomain", "hostname", "api.fake.test/*"),
        ("WorkersCustomDomain", "hostname", "https://api.fake.test"),
        ("WorkersRoute", "pattern", "https://api.fake.test/*"),
        ("WorkersRoute", "pattern", "api.fake.test"),
    ],
)
def test_tf_08_scheme_and_path_are_refused_before_any_call(
    driver: Driver, fake: FakeCloudflare, kind: str, name: str, bad: str
) -> None:
    with pytest.raises(Refused) as refused:
        driver.create(kind, {**SAMPLES[kind], name: bad})
    assert bad in refused.value.faults[name]
    assert fake.calls == []


@pytest.mark.parametrize("way", ["preview", "create"])
def test_tf_08_a_dns_record_is_explained_and_never_overridden(driver: Driver, fake: FakeCloudflare, way: str) -> None:
    fake.dns.append({"name": "chat.fake.test", "type": "CNAME"})
    with pytest.raises(SluicewayError, match="error 100117") as fault:
        getattr(driver, way)("WorkersCustomDomain", SAMPLES["WorkersCustomDomain"])
    assert fault.value.hint and "never" in fault.value.hint
    assert not any("override" in str(body) for _, _, body in fake.calls)


def test_tf_08_a_name_that_our_domain_holds_already_is_no_conflict(driver: Driver, fake: FakeCloudflare) -> None:
    driver.create("WorkersCustomDomain", SAMPLES["WorkersCustomDomain"])
    fake.dns.append({"name": "chat.fake.test", "type": "AAAA"})
    assert driver.preview("WorkersCustomDomain", SAMPLES["WorkersCustomDomain"])["certId"] is UNKNOWN


@pytest.mark.parametrize("bad", ["0 16 * * 0", "0 9 * * 1-5", "0 0 12 * * *", "61 * * * *"])
def test_wr_04_crons_that_mean_something_else_are_refused_with_their_place(driver: Driver, bad: str) -> None:
    with pytest.raises(Refused) as refused:
        driver.check("WorkersCronTrigger", {**CRONS, "schedules": [{"cron": "* * * * *"}, {"cron": bad}]})
    assert list(refused.value.faults) == ["schedules[1].cron"]


def test_wr_04_schedules_are_compared_by_meaning(driver: Driver, fake: FakeCloudflare) -> None:
    made = driver.create("WorkersCronTrigger", CRONS)
    for stored in fake.table("crons")["gateway"]:
        stored["cron"] = stored["cron"].replace("SUN", "1")
    fresh = driver.refresh(made)
    assert fresh is not None
    assert driver.changed(fresh, CRONS) == []
    assert driver.changed(fresh, {**CRONS, "schedules": []}) == ["schedules"]
