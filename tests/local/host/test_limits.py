"""Rate limits: the zone's rules, and the binding of a Worker."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.local.host.driver import Host, Version, says, until


def rule(expression: str, **more: object) -> dict[str, Any]:
    limit = {
        "characteristics": ["cf.colo.id", "ip.src"],
        "period": 10,
        "requests_per_period": 3,
        "mitigation_timeout": 10,
    }
    return {"id": expression, "action": "block", "expression": expression, "enabled": True, "ratelimit": limit, **more}


def world(host: Host, *rules: dict[str, Any]) -> None:
    host.apply(
        host.worker("limited", [(says("ok"), 100)]),
        routes=[{"pattern": "*.sluiceway.test/*", "script": "limited"}],
        rate_limits=[{"zone": "sluiceway.test", "rules": list(rules)}],
    )


def test_a_rule_blocks_one_client_on_its_path_only(host: Host) -> None:
    world(host, rule('(http.host eq "a.sluiceway.test" and starts_with(http.request.uri.path, "/v1/"))'))
    statuses = [host.get("/v1/chat", "a.sluiceway.test").status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    blocked = host.get("/v1/chat", "a.sluiceway.test")
    assert blocked.text == "error code: 1015"
    assert 0 < int(blocked.headers["retry-after"]) <= 10
    assert host.get("/other", "a.sluiceway.test").status_code == 200
    assert host.get("/v1/chat", "b.sluiceway.test").status_code == 200
    assert host.get("/v1/chat").status_code == 200
    with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2")) as other:
        assert other.get(f"{host.front}/v1/chat", headers={"host": "a.sluiceway.test"}).status_code == 200


def test_a_rule_may_have_its_own_answer_and_be_switched_off(host: Host) -> None:
    answer = {"status_code": 420, "content": '{"error":"slow"}', "content_type": "application/json"}
    world(
        host,
        rule('http.request.method eq "POST"', action_parameters={"response": answer}),
        rule('http.request.method eq "GET"', enabled=False),
    )
    posts = [host.client.post("/", headers={"host": "c.sluiceway.test"}) for _ in range(4)]
    assert [post.status_code for post in posts] == [200, 200, 200, 420]
    assert posts[-1].json() == {"error": "slow"}
    assert {host.get("/", "c.sluiceway.test").status_code for _ in range(6)} == {200}


@pytest.mark.parametrize(
    "change",
    [
        {"expression": 'ip.geoip.country eq "T1"'},
        {"expression": 'http.request.uri.path matches "^/v1"'},
        {"action": "managed_challenge"},
    ],
)
def test_a_rule_that_cannot_be_enforced_is_told_aloud(host: Host, change: dict[str, str]) -> None:
    before = len(host.events("RATE-LIMIT RULE IS NOT ENFORCED on the local stage"))
    world(host, {**rule("true"), "ref": "mine", **change})
    until(lambda: len(host.events("RATE-LIMIT RULE IS NOT ENFORCED on the local stage")) > before)
    told = host.events("RATE-LIMIT RULE IS NOT ENFORCED on the local stage")
    assert len(told) == before + 1
    assert told[-1]["rule"] == "mine" and told[-1]["level"] == "error"
    assert {host.get("/", "d.sluiceway.test").status_code for _ in range(6)} == {200}


def test_the_rate_limit_binding_counts_by_key(host: Host) -> None:
    source = """
const allowed = (env, url) => env.LIMIT.limit({ key: new URL(url).pathname });
export default { fetch: async (request, env) => Response.json(await allowed(env, request.url)) };
"""
    version = Version(
        {"index.js": source},
        bindings=[{"name": "LIMIT", "type": "ratelimit", "namespace_id": "1001", "simple": {"limit": 2, "period": 60}}],
    )
    host.apply(host.worker("counts", [(version, 100)]))
    # A window may turn in between: of nine calls, one window lets two pass and two windows four.
    passed = [host.get("/a").json()["success"] for _ in range(9)].count(True)
    assert passed in (2, 4)
    assert host.get("/b").json()["success"] is True
