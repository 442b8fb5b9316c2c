"""Deployments, secrets and Durable Object classes: what may serve together, and what may come back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.api.conftest import CODE, Api

DEPLOYMENTS = "/a/workers/scripts/chat/deployments"


def versions(api: Api, count: int) -> list[str]:
    api.worker()
    return [api.version(code=f"// {i}\n{CODE}")["id"] for i in range(count)]


def body(*shares: tuple[str, Any]) -> dict[str, Any]:
    return {"strategy": "percentage", "versions": [{"version_id": v, "percentage": p} for v, p in shares]}


def test_the_newest_deployment_is_listed_first_and_each_is_found_by_id(api: Api) -> None:
    first, second = versions(api, 2)
    old = api.deploy("chat", (first, 100))
    new = api.deploy("chat", (first, 90), (second, 10))
    assert [d["id"] for d in api.ok("GET", DEPLOYMENTS)["deployments"]] == [new["id"], old["id"]]
    assert api.ok("GET", f"{DEPLOYMENTS}/{old['id']}")["versions"] == [{"version_id": first, "percentage": 100}]
    assert api.refused("GET", f"{DEPLOYMENTS}/nothing")[0] == 404


def test_a_version_with_zero_percent_is_legal(api: Api) -> None:
    first, second = versions(api, 2)
    api.deploy("chat", (first, 100), (second, 0))
    assert len(api.host.worlds[-1]["workers"][0]["versions"]) == 2


@pytest.mark.parametrize("shares", [(60, 30), (100, 1), (-1, 101), ("50", "50"), (True, 99), (None, 100)])
def test_percentages_must_be_numbers_that_sum_to_100(api: Api, shares: tuple[Any, Any]) -> None:
    first, second = versions(api, 2)
    assert api.refused("POST", DEPLOYMENTS, body((first, shares[0]), (second, shares[1]))) == (400, 10021)


def test_at_most_two_different_versions_serve(api: Api) -> None:
    a, b, c = versions(api, 3)
    assert api.refused("POST", DEPLOYMENTS, body((a, 50), (b, 30), (c, 20))) == (400, 10021)
    assert api.refused("POST", DEPLOYMENTS, body((a, 50), (a, 50))) == (400, 10021)
    assert api.refused("POST", DEPLOYMENTS, body()) == (400, 10021)
    assert api.refused("POST", DEPLOYMENTS, {"strategy": "other"}) == (400, 10021)


def test_only_versions_of_this_worker_can_be_deployed(api: Api) -> None:
    versions(api, 1)
    api.worker("other")
    foreign = api.version("other")["id"]
    assert api.refused("POST", DEPLOYMENTS, body((foreign, 100)))[0] == 404


def test_only_the_newest_hundred_versions_can_be_deployed(api: Api) -> None:
    ids = versions(api, 102)
    assert api.refused("POST", DEPLOYMENTS, body((ids[1], 100))) == (400, 10021)
    api.deploy("chat", (ids[2], 100))
    listed = api.ok("GET", "/a/workers/scripts/chat/versions?deployable=true&per_page=200")["items"]
    assert len(listed) == 100 and listed[-1]["id"] == ids[2]


def test_a_secret_edit_makes_and_deploys_a_version(api: Api) -> None:
    api.put_script()
    api.ok("PUT", "/a/workers/scripts/chat/secrets", {"name": "KEY", "text": "one", "type": "secret_text"})
    assert api.ok("GET", "/a/workers/scripts/chat/secrets") == [{"name": "KEY", "type": "secret_text"}]
    assert api.host.worlds[-1]["workers"][0]["versions"][0]["bindings"][0]["text"] == "one"
    patch = {"secrets": {"KEY": None, "NEW": {"name": "NEW", "text": "two", "type": "secret_text"}}}
    api.ok("PATCH", "/a/workers/scripts/chat/secrets-bulk", patch)
    assert [s["name"] for s in api.ok("GET", "/a/workers/scripts/chat/secrets")] == ["NEW"]
    api.ok("DELETE", "/a/workers/scripts/chat/secrets/NEW")
    assert api.refused("DELETE", "/a/workers/scripts/chat/secrets/NEW") == (404, 10056)
    assert api.ok("GET", "/a/workers/scripts/chat/versions")["items"][0]["number"] == 4


def test_a_secret_edit_is_refused_while_the_newest_version_is_not_deployed(api: Api) -> None:
    api.put_script()
    api.upload()
    secret = {"name": "KEY", "text": "x", "type": "secret_text"}
    assert api.refused("PUT", "/a/workers/scripts/chat/secrets", secret) == (400, 10215)


def test_going_back_behind_a_secret_edit_needs_force(api: Api) -> None:
    api.put_script()
    before = api.ok("GET", "/a/workers/scripts/chat/versions/latest")["id"]
    api.ok("PUT", "/a/workers/scripts/chat/secrets", {"name": "KEY", "text": "x", "type": "secret_text"})
    assert api.refused("POST", DEPLOYMENTS, body((before, 100))) == (400, 10220)
    api.ok("POST", f"{DEPLOYMENTS}?force=true", body((before, 100)))


def test_going_back_to_a_version_whose_bucket_is_gone_is_refused(api: Api) -> None:
    api.ok("POST", "/a/r2/buckets", {"name": "models"})
    api.put_script(bindings=[{"name": "MODELS", "type": "r2_bucket", "bucket_name": "models"}])
    old = api.ok("GET", "/a/workers/scripts/chat/versions/latest")["id"]
    api.put_script()
    api.ok("DELETE", "/a/r2/buckets/models")
    assert api.refused("POST", DEPLOYMENTS, body((old, 100))) == (400, 10085)


def classes(*names: str) -> dict[str, Any]:
    return {name: {"type": "durable-object", "storage": "sqlite"} for name in names}


def test_tf_04_a_class_change_can_not_be_uploaded_beside_a_live_deployment(api: Api) -> None:
    api.put_script(exports=classes("A"))
    assert api.upload(exports=classes("A", "B")).json()["errors"][0]["code"] == 10211
    assert api.upload(exports=classes("A")).is_success
    assert api.put_script(exports=classes("A", "B")).is_success
    exported = api.host.worlds[-1]["workers"][0]["versions"][0]["exports"]
    assert sorted(exported) == ["A", "B"]


def test_tf_04_a_migration_is_applied_once(api: Api) -> None:
    first = {"new_tag": "v1", "new_sqlite_classes": ["A"]}
    assert api.put_script(migrations=first).is_success
    assert api.ok("GET", "/a/workers/services/chat")["default_environment"]["script"]["migration_tag"] == "v1"
    wrong = api.put_script(migrations={"old_tag": "v0", "new_tag": "v1", "new_sqlite_classes": ["A"]})
    assert wrong.json()["errors"] == [
        {"code": 10079, "message": "migration tag precondition failed, got v0, expected v1"}
    ]
    assert api.put_script(migrations=first).json()["errors"][0]["code"] == 10074
    second = {"old_tag": "v1", "new_tag": "v2", "steps": [{"new_sqlite_classes": ["B"]}, {"deleted_classes": ["A"]}]}
    assert api.upload(migrations=second).json()["errors"][0]["code"] == 10211
    assert api.put_script(migrations=second).is_success
    assert sorted(api.host.worlds[-1]["workers"][0]["versions"][0]["exports"]) == ["B"]


def test_a_class_is_not_forgotten_by_accident(api: Api) -> None:
    api.put_script(exports=classes("A"))
    assert api.put_script(exports=classes("B")).json()["errors"][0]["code"] == 100402
    gone = {**classes("B"), "A": {"type": "durable-object", "state": "deleted"}}
    assert api.put_script(exports=gone).is_success


def test_the_first_version_with_classes_needs_no_deploy_flag(api: Api) -> None:
    api.worker()
    version = api.version(exports=classes("A"))["id"]
    api.deploy("chat", (version, 100))
    assert api.version(exports=classes("A"))["number"] == 2


def test_versions_with_different_classes_do_not_serve_together(api: Api) -> None:
    api.worker()
    without, with_class = api.version()["id"], api.version(exports=classes("A"))["id"]
    assert api.refused("POST", DEPLOYMENTS, body((without, 50), (with_class, 50))) == (400, 100405)


def test_going_back_behind_a_class_change_is_refused(api: Api) -> None:
    api.put_script()
    before = api.ok("GET", "/a/workers/scripts/chat/versions/latest")["id"]
    api.put_script(exports=classes("A"))
    assert api.refused("POST", DEPLOYMENTS, body((before, 100))) == (400, 10211)
