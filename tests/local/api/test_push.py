"""What reaches the data plane, and what happens when it refuses."""

from __future__ import annotations

import asyncio

from tests.local.api.conftest import Api


def test_a_deployment_is_pushed_before_it_is_answered(api: Api) -> None:
    api.worker()
    first, second = api.version()["id"], api.version(code="export default {}")["id"]
    api.deploy("chat", (first, 90), (second, 10))
    world = api.host.worlds[-1]
    assert world["main_worker"] == "chat"
    assert [v["id"] for v in world["workers"][0]["versions"]] == [first, second]
    assert world["workers"][0]["deployment"]["versions"] == [
        {"version_id": first, "percentage": 90},
        {"version_id": second, "percentage": 10},
    ]


def test_what_the_data_plane_need_not_know_is_not_pushed(api: Api) -> None:
    api.worker()
    pushes = len(api.host.worlds)
    version = api.version()["id"]
    api.ok("POST", "/a/ai-gateway/gateways", GATEWAY)
    assert len(api.host.worlds) == pushes
    api.deploy("chat", (version, 100))
    generation = api.host.worlds[-1]["generation"]
    api.deploy("chat", (version, 100))
    assert api.host.worlds[-1]["generation"] == generation


def test_a_refused_world_undoes_the_change(api: Api) -> None:
    api.host.reject_world = "bad-queue"
    answer = api("POST", "/a/queues", {"queue_name": "bad-queue"})
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        [{"code": 10021, "message": "refused: bad-queue"}],
    )
    assert api.ok("GET", "/a/queues") == []


def test_a_dead_data_plane_changes_nothing(api: Api) -> None:
    api.host.down = True
    assert api.refused("POST", "/a/queues", {"queue_name": "jobs"}) == (503, 10013)
    assert api.ok("GET", "/a/queues") == []
    api.host.down = False
    api.ok("POST", "/a/queues", {"queue_name": "jobs"})
    assert api.host.worlds[-1]["queues"] == ["jobs"]


def test_changes_at_once_share_a_push(api: Api) -> None:
    api.host.delay = 0.05

    async def many() -> list[int]:
        answers = await asyncio.gather(*(api.send("POST", "/a/queues", {"queue_name": f"q{i}"}) for i in range(20)))
        return [answer.status_code for answer in answers]

    assert api.run(many()) == [200] * 20
    assert len(api.host.worlds) <= 3
    assert sorted(api.host.worlds[-1]["queues"]) == sorted(f"q{i}" for i in range(20))


def test_only_the_guilty_one_of_changes_at_once_fails(api: Api) -> None:
    api.host.delay = 0.02
    api.host.reject_world = "bad"
    names = ["first", "good-1", "bad", "good-2", "good-1"]

    async def many() -> list[int]:
        answers = await asyncio.gather(*(api.send("POST", "/a/queues", {"queue_name": name}) for name in names))
        return [answer.status_code for answer in answers]

    assert api.run(many()) == [200, 200, 400, 200, 409]
    assert sorted(q["queue_name"] for q in api.ok("GET", "/a/queues")) == ["first", "good-1", "good-2"]


def test_a_caller_that_goes_away_does_not_stop_the_others(api: Api) -> None:
    api.host.delay = 0.05

    async def impatient() -> list[int]:
        gone = asyncio.create_task(api.send("POST", "/a/queues", {"queue_name": "gone"}))
        await asyncio.sleep(0.01)
        kept = asyncio.create_task(api.send("POST", "/a/queues", {"queue_name": "kept"}))
        await asyncio.sleep(0.01)
        gone.cancel()
        return [(await kept).status_code, (await api.send("POST", "/a/queues", {"queue_name": "later"})).status_code]

    assert api.run(impatient()) == [200, 200]
    assert api.host.worlds[-1]["queues"] == ["gone", "kept", "later"]


def test_code_that_does_not_start_is_refused_before_it_is_recorded(api: Api) -> None:
    api.worker()
    api.host.reject_version = "Uncaught SyntaxError: Unexpected token"
    answer = api("POST", "/a/workers/workers/chat/versions", {**_BODY})
    assert answer.json()["errors"] == [{"code": 10021, "message": "Uncaught SyntaxError: Unexpected token"}]
    assert api.ok("GET", "/a/workers/workers/chat/versions") == []


def test_a_binding_whose_namespace_is_gone_is_not_run(api: Api) -> None:
    namespace = api.ok("POST", "/a/storage/kv/namespaces", {"title": "cache"})["id"]
    api.put_script(bindings=[{"name": "CACHE", "type": "kv_namespace", "namespace_id": namespace}])
    assert api.host.worlds[-1]["workers"][0]["versions"][0]["bindings"]
    api.ok("DELETE", f"/a/storage/kv/namespaces/{namespace}")
    world = api.host.worlds[-1]
    assert world["kv"] == [] and world["workers"][0]["versions"][0]["bindings"] == []


def test_a_worker_without_a_name_or_a_route_is_not_the_main_one_beside_one_that_has(api: Api) -> None:
    api.put_script("a-private")
    assert api.host.worlds[-1]["main_worker"] == "a-private"
    api.put_script("gateway")
    api.ok("POST", "/a/workers/scripts/gateway/subdomain", {"enabled": True})
    assert api.host.worlds[-1]["main_worker"] == "gateway"


def test_the_main_worker_can_be_chosen(api: Api) -> None:
    api.put_script("first")
    api.put_script("second")
    assert api.host.worlds[-1]["main_worker"] == "first"
    api.ok("PUT", "/_local/main_worker", {"name": "second"})
    assert api.host.worlds[-1]["main_worker"] == "second"
    assert api.ok("GET", "/_local/main_worker") == {"name": "second"}
    assert api.refused("PUT", "/_local/main_worker", {"name": "nobody"}) == (404, 10007)


GATEWAY = {
    "id": "local",
    "cache_ttl": 0,
    "cache_invalidate_on_update": True,
    "collect_logs": True,
    "rate_limiting_interval": 60,
    "rate_limiting_limit": 50,
}
_BODY = {
    "main_module": "a.js",
    "modules": [{"name": "a.js", "content_type": "application/javascript+module", "content_base64": "fQ=="}],
}
