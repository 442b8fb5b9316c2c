"""Zones, routes, custom domains, rulesets."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.local.api.config import zone_id
from tests.local.api.conftest import ZONE, Api

ROUTES = "/zones/{z}/workers/routes"
DOMAINS = "/a/workers/domains"
RULESETS = "/zones/{z}/rulesets"


@pytest.fixture(autouse=True)
def two_workers(api: Api) -> None:
    api.put_script("chat-blue")
    api.put_script("chat-green")


def test_zones_are_found_by_name_and_can_be_added(api: Api) -> None:
    assert api.ok("GET", "/zones/{z}")["name"] == "sluiceway.test"
    assert api.ok("GET", "/zones?name=other.test") == []
    assert api.ok("POST", "/zones", {"name": "other.test"})["id"] == zone_id("other.test")
    assert api.refused("POST", "/zones", {"name": "other.test"}) == (400, 1061)
    assert api.refused("POST", "/zones", {"name": "no dots"}) == (400, 1002)
    assert api.refused("GET", f"/zones/{'0' * 32}")[0] == 404


def test_tf_08_a_pattern_has_one_owner_and_moves_as_one_update(api: Api) -> None:
    pattern = "api.sluiceway.test/v1/*"
    route = api.ok("POST", ROUTES, {"pattern": pattern, "script": "chat-blue"})
    assert api.refused("POST", ROUTES, {"pattern": pattern, "script": "chat-green"}) == (409, 10020)
    put = api("PUT", "/a/workers/scripts/chat-green/routes", [{"pattern": pattern}])
    assert put.status_code == 409 and '"chat-blue" is already assigned' in put.json()["errors"][0]["message"]
    api.ok("PUT", f"{ROUTES}/{route['id']}", {"pattern": pattern, "script": "chat-green"})
    assert api.host.worlds[-1]["routes"] == [{"pattern": pattern, "script": "chat-green"}]
    assert api.ok("GET", f"{ROUTES}/{route['id']}")["script"] == "chat-green"


@pytest.mark.parametrize(
    ("pattern", "code"),
    [("api.other.test/*", 10023), ("ftp://sluiceway.test/", 10022), ("", 10022), (None, 10022), ("*/x", 10022)],
)
def test_a_pattern_outside_the_zone_is_refused(api: Api, pattern: object, code: int) -> None:
    assert api.refused("POST", ROUTES, {"pattern": pattern, "script": "chat-blue"}) == (400, code)


@pytest.mark.parametrize(
    "pattern", ["sluiceway.test/*", "*.sluiceway.test/*", "https://a.sluiceway.test/x", "*sluiceway.test/*"]
)
def test_a_pattern_of_the_zone_is_taken(api: Api, pattern: str) -> None:
    assert api.ok("POST", ROUTES, {"pattern": pattern})["script"] is None


def test_a_route_of_no_worker_is_refused_and_routes_go_with_their_worker(api: Api) -> None:
    assert api.refused("POST", ROUTES, {"pattern": "sluiceway.test/*", "script": "none"}) == (404, 10007)
    api.ok("POST", ROUTES, {"pattern": "sluiceway.test/*", "script": "chat-blue"})
    api.ok("DELETE", "/a/workers/scripts/chat-blue")
    assert api.ok("GET", ROUTES) == []


def test_wrangler_replaces_all_routes_of_a_script(api: Api) -> None:
    put = "/a/workers/scripts/chat-blue/routes"
    api.ok(
        "PUT",
        put,
        [{"pattern": "a.sluiceway.test/*"}, {"pattern": "b.sluiceway.test/*", "zone_name": "sluiceway.test"}],
    )
    kept = {route["pattern"]: route["id"] for route in api.ok("GET", ROUTES)}
    api.ok("PUT", put, [{"pattern": "b.sluiceway.test/*"}, {"pattern": "c.sluiceway.test/*", "zone_id": ZONE}])
    now = {route["pattern"]: route["id"] for route in api.ok("GET", ROUTES)}
    assert sorted(now) == ["b.sluiceway.test/*", "c.sluiceway.test/*"]
    assert now["b.sluiceway.test/*"] == kept["b.sluiceway.test/*"]
    assert api.refused("PUT", put, [{"pattern": "a.elsewhere.test/*"}]) == (400, 10082)


def test_a_custom_domain_is_attached_moved_and_removed(api: Api) -> None:
    given = {"hostname": "chat.sluiceway.test", "service": "chat-blue", "zone_id": ZONE, "environment": "production"}
    domain = api.ok("PUT", DOMAINS, given)
    moved = api.ok("PUT", DOMAINS, {**given, "service": "chat-green"})
    assert moved["id"] == domain["id"]
    assert api.host.worlds[-1]["domains"] == [{"hostname": "chat.sluiceway.test", "service": "chat-green"}]
    assert api.ok("GET", f"{DOMAINS}/{domain['id']}")["zone_name"] == "sluiceway.test"
    api.ok("DELETE", f"{DOMAINS}/{domain['id']}")
    assert api.refused("GET", f"{DOMAINS}/{domain['id']}")[0] == 404


@pytest.mark.parametrize(
    "hostname", ["api.sluiceway.test/*", "https://api.sluiceway.test", "*.sluiceway.test", "x:80", ""]
)
def test_tf_08_a_hostname_with_scheme_path_or_wildcard_is_refused(api: Api, hostname: str) -> None:
    assert api.refused("PUT", DOMAINS, {"hostname": hostname, "service": "chat-blue", "zone_id": ZONE})[0] == 400
    assert api.host.worlds[-1]["domains"] == []


def test_tf_08_a_hostname_with_dns_records_is_refused_unless_overridden(api: Api) -> None:
    record = {"type": "CNAME", "name": "old.sluiceway.test", "content": "elsewhere.test"}
    api.ok("POST", "/zones/{z}/dns_records", record)
    given = {"hostname": "old.sluiceway.test", "service": "chat-blue", "zone_id": ZONE}
    assert api.refused("PUT", DOMAINS, given) == (409, 100117)
    origins = [{"hostname": "old.sluiceway.test"}]
    changes = api.ok("POST", "/a/workers/scripts/chat-blue/domains/changeset?replace_state=true", origins)
    assert changes["conflicting"] == [{"hostname": "old.sluiceway.test"}]
    records = "/a/workers/scripts/chat-blue/domains/records"
    assert api.refused("PUT", records, {"origins": origins}) == (409, 100117)
    api.ok("PUT", records, {"origins": origins, "override_existing_dns_record": True})
    assert api.ok("GET", "/zones/{z}/dns_records") == []


def test_wrangler_is_told_which_domains_move(api: Api) -> None:
    api.ok("PUT", DOMAINS, {"hostname": "chat.sluiceway.test", "service": "chat-blue", "zone_id": ZONE})
    origins = [{"hostname": "chat.sluiceway.test"}, {"hostname": "new.sluiceway.test"}]
    changes = api.ok("POST", "/a/workers/scripts/chat-green/domains/changeset", origins)
    assert [d["modified"] for d in changes["updated"]] == [True]
    assert [d["hostname"] for d in changes["added"]] == ["new.sluiceway.test"]
    records = "/a/workers/scripts/chat-green/domains/records"
    assert api.refused("PUT", records, {"origins": origins}) == (409, 100116)
    api.ok("PUT", records, {"origins": origins, "override_existing_origin": True})
    assert {d["service"] for d in api.host.worlds[-1]["domains"]} == {"chat-green"}


def limit(ref: str, **changes: object) -> dict[str, Any]:
    ratelimit = {
        "characteristics": ["ip.src", "cf.colo.id"],
        "period": 60,
        "requests_per_period": 50,
        "mitigation_timeout": 60,
    }
    return {
        "ref": ref,
        "action": "block",
        "action_parameters": {},
        "expression": f'http.request.uri.path eq "/{ref}"',
        "description": ref,
        "enabled": True,
        "ratelimit": {**ratelimit, **changes},
    }


def ruleset(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"name": "limits", "kind": "zone", "phase": "http_ratelimit", "description": "", "rules": list(rules)}


def test_tf_07_a_zone_has_one_ruleset_for_each_phase(api: Api) -> None:
    first = api.ok("POST", RULESETS, ruleset(limit("chat")))
    assert api.refused("POST", RULESETS, ruleset(limit("intent"))) == (400, 20217)
    api.ok("POST", f"{RULESETS}/{first['id']}/rules", limit("intent"))
    entry = api.ok("GET", f"{RULESETS}/phases/http_ratelimit/entrypoint")
    assert [rule["ref"] for rule in entry["rules"]] == ["chat", "intent"]
    api.ok("DELETE", f"{RULESETS}/{first['id']}/rules/{entry['rules'][0]['id']}")
    world = api.host.worlds[-1]["rate_limits"]
    assert [(one["zone"], [rule["ref"] for rule in one["rules"]]) for one in world] == [("sluiceway.test", ["intent"])]


def test_a_ruleset_is_read_replaced_and_deleted(api: Api) -> None:
    key = api.ok("POST", RULESETS, ruleset(limit("a"), limit("b")))["id"]
    replaced = api.ok("PUT", f"{RULESETS}/{key}", ruleset(limit("c")))
    assert [rule["ref"] for rule in replaced["rules"]] == ["c"] and replaced["version"] == "2"
    assert "rules" not in api.ok("GET", RULESETS)[0]
    assert api("DELETE", f"{RULESETS}/{key}").status_code == 204
    assert api.refused("GET", f"{RULESETS}/phases/http_ratelimit/entrypoint") == (404, 10003)
    api.ok("PUT", f"{RULESETS}/phases/http_ratelimit/entrypoint", {"rules": [limit("d")]})


@pytest.mark.parametrize("changes", [{"characteristics": ["ip.src"]}, {"period": 7}, {"requests_per_period": 0}])
def test_a_rate_limit_that_the_platform_refuses_is_refused(api: Api, changes: dict[str, Any]) -> None:
    assert api.refused("POST", RULESETS, ruleset(limit("a", **changes)))[0] == 400
    assert api.host.worlds[-1]["rate_limits"] == []
