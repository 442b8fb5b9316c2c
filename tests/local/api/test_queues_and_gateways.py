"""Queues with their consumers, and AI Gateways."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.api.conftest import Api

GATEWAYS = "/a/ai-gateway/gateways"
GATEWAY: dict[str, Any] = {
    "id": "sluiceway-local",
    "cache_ttl": 0,
    "cache_invalidate_on_update": True,
    "collect_logs": True,
    "rate_limiting_interval": 60,
    "rate_limiting_limit": 50,
    "rate_limiting_technique": "sliding",
    "workers_ai_billing_mode": "postpaid",
}


def test_a_queue_is_made_found_changed_and_deleted(api: Api) -> None:
    queue = api.ok("POST", "/a/queues", {"queue_name": "events", "settings": {"message_retention_period": 3600}})
    path = f"/a/queues/{queue['queue_id']}"
    assert queue["settings"] == {"delivery_delay": 0, "delivery_paused": False, "message_retention_period": 3600}
    assert api.refused("POST", "/a/queues", {"queue_name": "events"}) == (409, 11009)
    assert [q["queue_id"] for q in api.ok("GET", "/a/queues?name=events")] == [queue["queue_id"]]
    assert api.ok("PATCH", path, {"settings": {"delivery_delay": 5}})["settings"]["message_retention_period"] == 3600
    assert api.ok("PUT", path, {"queue_name": "renamed"})["settings"]["delivery_delay"] == 0
    assert api.host.worlds[-1]["queues"] == ["renamed"]
    api.ok("DELETE", path)
    assert api.refused("GET", path) == (404, 11000)


@pytest.mark.parametrize(
    "body", [{"queue_name": "Bad Name"}, {}, {"queue_name": "a", "settings": {"message_retention_period": 1}}]
)
def test_a_queue_that_breaks_a_rule_is_refused(api: Api, body: dict[str, Any]) -> None:
    assert api.refused("POST", "/a/queues", body) == (400, 11003)


def test_a_consumer_belongs_to_a_queue_and_a_worker(api: Api) -> None:
    path = f"/a/queues/{api.ok('POST', '/a/queues', {'queue_name': 'events'})['queue_id']}/consumers"
    given = {"type": "worker", "script_name": "chat", "settings": {"batch_size": 5}, "dead_letter_queue": "dead"}
    assert api.refused("POST", path, given) == (404, 10007)
    api.put_script(bindings=[{"name": "EVENTS", "type": "queue", "queue_name": "events"}])
    consumer = api.ok("POST", path, given)
    assert api.refused("POST", path, given) == (409, 11004)
    assert api.host.worlds[-1]["consumers"] == [
        {"queue": "events", "script": "chat", "batch_size": 5, "dead_letter_queue": "dead"}
    ]
    queue = api.ok("GET", "/a/queues")[0]
    assert (queue["producers_total_count"], queue["consumers_total_count"]) == (1, 1)
    api.ok("PUT", f"{path}/{consumer['consumer_id']}", {"settings": {"batch_size": 9}})
    assert api.ok("GET", path)[0]["settings"] == {"batch_size": 9}
    api.ok("DELETE", f"{path}/{consumer['consumer_id']}")
    assert api.refused("GET", f"{path}/{consumer['consumer_id']}") == (404, 11001)


def test_a_gateway_is_made_found_replaced_and_deleted(api: Api) -> None:
    made = api.ok("POST", GATEWAYS, GATEWAY)
    assert {key: made[key] for key in GATEWAY} == GATEWAY and made["authentication"] is False
    assert api.refused("POST", GATEWAYS, GATEWAY) == (409, 7004)
    path = f"{GATEWAYS}/sluiceway-local"
    body = {key: value for key, value in GATEWAY.items() if key not in ("id", "rate_limiting_technique")}
    assert api.ok("PUT", path, {**body, "cache_ttl": 300})["rate_limiting_technique"] == "fixed"
    assert api.ok("GET", path)["cache_ttl"] == 300
    api.ok("DELETE", path)
    assert api.refused("GET", path) == (404, 7002)


@pytest.mark.parametrize(
    "changes",
    [{"id": "Bad"}, {"id": "a" * 65}, {"cache_ttl": -1}, {"cache_ttl": True}, {"collect_logs": 1}, {"cache_ttl": None}],
)
def test_a_gateway_that_breaks_a_rule_is_refused(api: Api, changes: dict[str, Any]) -> None:
    assert api.refused("POST", GATEWAYS, {**GATEWAY, **changes}) == (400, 7001)
