"""Worlds: what is applied serves, what is bad leaves the one before, what is live needs no restart."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.local.host.driver import Host, Version, says


def count(host: Host, requests: int) -> Counter[str]:
    return Counter(host.get().text for _ in range(requests))


def test_a_world_with_one_worker_answers_on_the_plain_port(host: Host) -> None:
    result = host.apply(host.worker("hello", [(says("hello"), 100)]))
    assert result == {"generation": host.generation, "reloaded": True}
    assert host.get().text == "hello"
    assert host.admin.get("/health").json()["generation"] == host.generation


def test_the_admin_port_refuses_callers_without_the_token(host: Host) -> None:
    answer = host.admin.get("/health", headers={"authorization": "Bearer other"})
    assert answer.status_code == 401


def test_a_split_really_splits_and_moves_without_a_restart(host: Host) -> None:
    stable, candidate = says("stable"), says("candidate", number=2)
    host.apply(host.worker("split", [(stable, 90), (candidate, 10)]))
    pid = host.admin.get("/health").json()["workerd_pid"]
    before = count(host, 500)
    # Six standard deviations around 50.
    assert 10 < before["candidate"] < 90 and before.total() == before["stable"] + before["candidate"]
    moved = host.apply(host.worker("split", [(stable, 0), (candidate, 100)]))
    assert moved["reloaded"] is False
    assert count(host, 50) == {"candidate": 50}
    assert host.admin.get("/health").json()["workerd_pid"] == pid


def test_a_sticky_key_stays_on_its_version_and_only_moves_towards_the_newer(host: Host) -> None:
    stable, candidate = says("stable"), says("candidate", number=2)
    key = "cloudflare-workers-version-key"

    def placed(share: float) -> dict[str, str]:
        host.apply(host.worker("sticky", [(stable, 100 - share), (candidate, share)]))
        return {user: host.get(headers={key: user}).text for user in map(str, range(100))}

    ten, again, half = placed(10), placed(10), placed(50)
    assert ten == again
    assert {user for user, where in ten.items() if where == "candidate"} < {
        user for user, where in half.items() if where == "candidate"
    }


def test_an_override_reaches_a_version_with_no_share_but_only_a_deployed_one(host: Host) -> None:
    stable, candidate, spare = says("stable"), says("candidate", number=2), says("spare", number=3)
    host.apply(host.worker("forced", [(stable, 100), (candidate, 0)], spare=[spare]))
    assert count(host, 20) == {"stable": 20}

    def forced(value: str) -> str:
        return host.get(headers={"cloudflare-workers-version-overrides": value}).text

    assert forced(f'other="x", forced="{candidate.id}"') == "candidate"
    assert forced(f'forced="{spare.id}"') == "stable"
    assert forced(f'other="{candidate.id}"') == "stable"
    assert forced("nonsense") == "stable"


def test_the_same_world_again_changes_nothing(host: Host) -> None:
    worker = host.worker("same", [(says("same"), 100)])
    host.apply(worker)
    pid = host.admin.get("/health").json()["workerd_pid"]
    assert host.apply(worker)["reloaded"] is False
    assert host.admin.get("/health").json()["workerd_pid"] == pid


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("export default { fetch( {", "SyntaxError"),
        ("throw new Error('boom at the top')", "boom at the top"),
        ("import './missing.js'; export default {}", "missing.js"),
    ],
)
def test_bad_code_is_refused_and_the_world_before_serves_on(host: Host, source: str, complaint: str) -> None:
    host.apply(host.worker("good", [(says("good"), 100)]))
    answer = host.put(host.world([host.worker("good", [(Version({"index.js": source}, number=2), 100)])]))
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == 10021
    assert complaint in answer.json()["error"]["message"]
    assert host.get().text == "good"


def test_code_that_only_the_real_runtime_refuses_falls_back_to_the_last_good_world(host: Host) -> None:
    good = host.worker("good", [(says("good"), 100)])
    host.apply(good)
    source = """
import { env } from "cloudflare:workers";
if (env.KV) throw new Error("not with KV");
export default { fetch() {} };
"""
    version = Version({"index.js": source}, bindings=[{"name": "KV", "type": "kv_namespace", "namespace_id": "n"}])
    answer = host.put(host.world([host.worker("other", [(version, 100)])], kv=["n"]))
    assert answer.status_code == 422, answer.text
    assert "not with KV" in answer.json()["error"]["message"]
    assert host.get().text == "good"
    assert host.apply(good)["reloaded"] is False


def test_an_unknown_binding_type_is_named_and_not_dropped(host: Host) -> None:
    version = says("x", bindings=[{"name": "BROWSER", "type": "browser"}])
    error = host.put(host.world([host.worker("x", [(version, 100)])])).json()["error"]
    assert "BROWSER" in error["message"] and '"browser"' in error["message"]


@pytest.mark.parametrize(
    ("binding", "code"),
    [
        ({"name": "K", "type": "kv_namespace", "namespace_id": "absent"}, 10041),
        ({"name": "B", "type": "r2_bucket", "bucket_name": "absent"}, 10085),
        ({"name": "Q", "type": "queue", "queue_name": "absent"}, 11000),
        ({"name": "S", "type": "service", "service": "absent"}, 10143),
        ({"name": "D", "type": "durable_object_namespace", "class_name": "A", "script_name": "absent"}, 10061),
    ],
)
def test_a_binding_to_nothing_is_refused(host: Host, binding: dict[str, str], code: int) -> None:
    answer = host.put(host.world([host.worker("x", [(says("x", bindings=[binding]), 100)])]))
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == code
    assert binding["name"] in answer.json()["error"]["message"]


def validate(host: Host, version: Version) -> tuple[int, dict[str, object]]:
    answer = host.admin.post("/validate", json={"version": version.describe(host.modules)})
    return answer.status_code, answer.json()


def test_validation_tells_handlers_of_objects_and_classes(host: Host) -> None:
    plain = Version({"index.js": "export default { fetch() {}, async scheduled() {} }"})
    status, verdict = validate(host, plain)
    assert status == 200 and verdict["handlers"] == ["fetch", "scheduled"]
    entrypoint = Version(
        {
            "index.js": "import { WorkerEntrypoint } from 'cloudflare:workers';"
            "export default class extends WorkerEntrypoint { fetch() {} queue() {} }"
        }
    )
    assert validate(host, entrypoint)[1]["handlers"] == ["fetch", "queue"]


def test_validation_refuses_a_class_that_is_declared_but_not_exported(host: Host) -> None:
    version = says("x", exports={"Counter": {"type": "durable-object", "storage": "sqlite"}})
    status, error = validate(host, version)
    assert status == 422 and "'Counter'" in str(error)


def test_validation_refuses_a_compatibility_date_the_runtime_does_not_know(host: Host) -> None:
    status, error = validate(host, says("x", compatibility_date="2099-01-01"))
    assert status == 422 and "2099-01-01" in str(error)


def test_plain_bindings_and_modules_reach_the_worker(host: Host) -> None:
    source = """
import config from "./config.json"; import note from "./note.txt"; import raw from "./raw.bin";
export default { fetch: (_, env) => Response.json({ ...env, config, note, raw: [...new Uint8Array(raw)] }) };
"""
    version = Version(
        {"note.txt": "día", "config.json": '{"a":1}', "index.js": source, "raw.bin": b"\0\xff"},
        tag="t1",
        bindings=[
            {"name": "VERSION", "type": "version_metadata"},
            {"name": "TEXT", "type": "plain_text", "text": "plain"},
            {"name": "KEY", "type": "secret_text", "text": "s3cret"},
            {"name": "DATA", "type": "json", "json": {"deep": [1]}},
        ],
    )
    host.apply(host.worker("bound", [(version, 100)]))
    assert host.get().json() == {
        "VERSION": {"id": version.id, "tag": "t1", "timestamp": "2026-07-01T00:00:01Z"},
        "TEXT": "plain",
        "KEY": "s3cret",
        "DATA": {"deep": [1]},
        "config": '{"a":1}',
        "note": "día",
        "raw": [0, 255],
    }
    assert "s3cret" not in str(host.log)
