"""Callers, envelope, and what survives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.api.conftest import CODE, TOKEN, Api


def test_a_call_without_the_token_is_refused(api: Api) -> None:
    assert api.refused("GET", "/user", headers={"authorization": "Bearer other"}) == (401, 10000)
    assert api.refused("GET", "/user", headers={"authorization": ""}) == (401, 10000)
    assert api.refused("GET", "/user/tokens/verify", headers={"authorization": "Bearer x"}) == (401, 1000)


def test_another_account_is_refused(api: Api) -> None:
    assert api.refused("GET", "/accounts/0123456789abcdef0123456789abcdef/queues") == (403, 9109)


def test_an_unknown_path_is_named(api: Api) -> None:
    assert api.refused("GET", "/a/no/such/thing") == (404, 7003)


def test_a_body_that_is_no_json_is_refused(api: Api) -> None:
    assert api.refused("POST", "/a/queues", content=b"{") == (400, 10001)
    assert api.refused("POST", "/a/queues", content=b"[]") == (400, 10001)


def test_the_token_and_its_account_are_known(api: Api) -> None:
    assert api.ok("GET", "/user/tokens/verify")["status"] == "active"
    assert api.ok("GET", "/memberships")[0]["account"]["name"] == "Local stage"
    assert [account["name"] for account in api.ok("GET", "/accounts")] == ["Local stage"]
    assert [zone["name"] for zone in api.ok("GET", "/zones?name=sluiceway.test")] == ["sluiceway.test"]


def test_state_survives_a_restart(api: Api) -> None:
    api.put_script(bindings=[{"name": "API_KEY", "type": "secret_text", "text": "hunter2"}])
    before = api.ok("GET", "/a/workers/scripts/chat/deployments")
    api.close()
    api.open()
    assert api.ok("GET", "/a/workers/scripts/chat/deployments") == before
    api.run(api.control.sync())
    version = api.host.worlds[-1]["workers"][0]["versions"][0]
    assert version["bindings"] == [{"name": "API_KEY", "type": "secret_text", "text": "hunter2"}]
    assert Path(version["modules"][0]["path"]).read_text() == CODE


def test_no_answer_tells_a_secret(api: Api) -> None:
    secret = "canary-4711"
    api.put_script(bindings=[{"name": "API_KEY", "type": "secret_text", "text": secret}])
    api.ok("PUT", "/a/workers/scripts/chat/secrets", {"name": "OTHER", "text": secret, "type": "secret_text"})
    version = api.ok("GET", "/a/workers/scripts/chat/versions")["items"][0]["id"]
    paths = [
        f"/a/workers/scripts/chat/versions/{version}",
        f"/a/workers/workers/chat/versions/{version}?include=modules",
        "/a/workers/workers/chat/versions",
        "/a/workers/scripts/chat/settings",
        "/a/workers/scripts/chat/secrets",
        "/a/workers/services/chat/environments/production/bindings",
        "/_local/world",
    ]
    for path in paths:
        assert secret not in api("GET", path).text, path
    assert TOKEN not in api("GET", "/user").text
    assert (api.data / "state.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("path", ["/a/queues", "/a/storage/kv/namespaces", "/a/ai-gateway/gateways"])
def test_lists_are_paged(api: Api, path: str) -> None:
    answer = api("GET", f"{path}?page=1&per_page=5").json()
    assert answer["result"] == [] and answer["result_info"]["total_count"] == 0
