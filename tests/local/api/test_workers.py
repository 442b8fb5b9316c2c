"""Workers, their versions and settings."""

from __future__ import annotations

import base64
import os

import pytest

from tests.local.api.conftest import CODE, Api, multipart


def test_a_worker_is_made_found_changed_and_deleted(api: Api) -> None:
    key = api.worker("chat", observability={"enabled": True, "head_sampling_rate": 1}, subdomain={"enabled": True})
    got = api.ok("GET", f"/a/workers/workers/{key}")
    assert got["name"] == "chat" and got == api.ok("GET", "/a/workers/workers/chat")
    assert got["subdomain"]["enabled"] and got["subdomain"]["previews_enabled"]
    api.ok("PUT", f"/a/workers/workers/{key}", {"name": "chat", "tags": ["a"]})
    changed = api.ok("GET", f"/a/workers/workers/{key}")
    assert changed["tags"] == ["a"] and changed["subdomain"]["enabled"] is False
    api.ok("DELETE", f"/a/workers/workers/{key}")
    assert api.refused("GET", f"/a/workers/workers/{key}") == (404, 10007)


@pytest.mark.parametrize("name", ["", "Chat", "a b", "a" * 64, "-a", None])
def test_a_bad_worker_name_is_refused(api: Api, name: object) -> None:
    assert api.refused("POST", "/a/workers/workers", {"name": name}) == (400, 10016)


def test_tf_01_bindings_come_back_sorted_by_type(api: Api) -> None:
    namespace = api.ok("POST", "/a/storage/kv/namespaces", {"title": "t"})["id"]
    api.ok("POST", "/a/r2/buckets", {"name": "models"})
    bindings = [
        {"name": "Z_KV", "type": "kv_namespace", "namespace_id": namespace},
        {"name": "A_TEXT", "type": "plain_text", "text": "x"},
        {"name": "M_R2", "type": "r2_bucket", "bucket_name": "models"},
        {"name": "B_LIMIT", "type": "ratelimit", "namespace_id": "1001", "simple": {"limit": 5, "period": 60}},
    ]
    api.worker()
    version = api.version(bindings=bindings)
    assert [b["name"] for b in version["bindings"]] == ["Z_KV", "A_TEXT", "M_R2", "B_LIMIT"]
    again = api.version(bindings=bindings[::-1])
    assert again["bindings"] == version["bindings"]
    read = api.ok("GET", f"/a/workers/workers/chat/versions/{again['id']}")
    assert read["bindings"] == version["bindings"]


def test_tf_02_the_server_fills_in_defaults(api: Api) -> None:
    key = api.worker(observability={"enabled": True})
    got = api.ok("GET", f"/a/workers/workers/{key}")["observability"]
    assert got["logs"] == {
        "enabled": True,
        "head_sampling_rate": 1,
        "invocation_logs": True,
        "persist": True,
        "destinations": [],
    }
    version = api.version()
    assert version["usage_model"] == "standard" and version["bindings"] == []


def test_modules_come_back_byte_for_byte_when_asked_for(api: Api) -> None:
    api.worker()
    code = "export default {}\r\n\n\n"
    version = api.version(code=code)
    read = api.ok("GET", f"/a/workers/workers/chat/versions/{version['id']}?include=modules")
    assert base64.b64decode(read["modules"][0]["content_base64"]) == code.encode()
    assert "modules" not in api.ok("GET", f"/a/workers/workers/chat/versions/{version['id']}")


def test_exports_are_read_back(api: Api) -> None:
    api.worker()
    exports = {"Rollouts": {"type": "durable-object", "storage": "sqlite"}}
    bound = [{"name": "ROLLOUTS", "type": "durable_object_namespace", "class_name": "Rollouts"}]
    version = api.version(exports=exports, bindings=bound)
    assert api.ok("GET", f"/a/workers/workers/chat/versions/{version['id']}")["exports"] == exports


def test_version_numbers_grow_and_the_newest_is_listed_first(api: Api) -> None:
    api.worker()
    ids = [api.version(code=f"// {i}\n{CODE}")["id"] for i in range(3)]
    listed = api.ok("GET", "/a/workers/scripts/chat/versions")["items"]
    assert [(v["id"], v["number"]) for v in listed] == [(ids[2], 3), (ids[1], 2), (ids[0], 1)]
    assert api.ok("GET", "/a/workers/scripts/chat/versions/latest")["id"] == ids[2]


def test_a_version_of_a_missing_worker_is_refused(api: Api) -> None:
    assert api.upload("nobody").status_code == 404
    assert api.upload("nobody").json()["errors"][0]["code"] == 10007
    assert api.refused("GET", "/a/workers/services/nobody") == (404, 10090)


@pytest.mark.parametrize(
    ("binding", "code"),
    [
        ({"name": "X", "type": "kv_namespace", "namespace_id": "0" * 32}, 10041),
        ({"name": "X", "type": "r2_bucket", "bucket_name": "none"}, 10085),
        ({"name": "X", "type": "queue", "queue_name": "none"}, 11000),
        ({"name": "X", "type": "service", "service": "none"}, 10143),
        ({"name": "X", "type": "durable_object_namespace", "class_name": "None"}, 10061),
        ({"name": "X", "type": "ratelimit", "namespace_id": "1", "simple": {"limit": 5, "period": 30}}, 10021),
        ({"name": "X", "type": "plain_text", "text": "x" * 5121}, 10021),
        ({"name": "X", "type": "secret_text"}, 10021),
        ({"name": "X", "type": "inherit"}, 10057),
        ({"name": "a-b", "type": "ai"}, 10021),
    ],
)
def test_a_binding_that_can_not_work_is_refused(api: Api, binding: dict[str, object], code: int) -> None:
    answer = api.put_script(bindings=[binding])
    assert answer.status_code == 400 and answer.json()["errors"][0]["code"] == code
    assert api.ok("GET", "/a/workers/scripts") == []


def test_a_script_that_is_too_large_is_refused(api: Api) -> None:
    noise = base64.b64encode(os.urandom(14_500_000)).decode()
    answer = api.put_script(code=f"export default {{}} // {noise}")
    assert answer.status_code == 413 and answer.json()["errors"][0]["code"] == 10027
    assert api.put_script(code=f"export default {{}} // {'a' * 12_000_000}").is_success


def test_an_upload_without_metadata_or_main_module_is_refused(api: Api) -> None:
    files = multipart(CODE, {})
    del files["metadata"]
    assert api.refused("PUT", "/a/workers/scripts/chat", files=files) == (400, 10001)
    assert api.put_script(main_module="other.js").json()["errors"][0]["code"] == 10021
    assert api.put_script(main_module=None, body_part="index.js").json()["errors"][0]["code"] == 10021


def test_a_broken_form_is_refused(api: Api) -> None:
    form = {"content-type": "multipart/form-data; boundary=x"}
    assert api.refused("PUT", "/a/workers/scripts/chat", content=b"--x\r\nbroken", headers=form) == (400, 10001)
    assert api.refused("PUT", "/a/workers/scripts/chat", content=b"{}") == (400, 10001)


def test_code_is_read_back_of_what_is_live_or_of_one_version(api: Api) -> None:
    api.put_script(code="export default { live: true }")
    draft = api.upload(code="export default { draft: true }").json()["result"]["id"]
    assert "live: true" in api("GET", "/a/workers/scripts/chat").text
    assert "draft: true" in api("GET", f"/a/workers/scripts/chat/content/v2?version={draft}").text


def test_crons_follow_the_platform(api: Api) -> None:
    api.put_script()
    schedules = "/a/workers/scripts/chat/schedules"
    api.ok("PUT", schedules, [{"cron": "0 9 * * MON-FRI"}, {"cron": "*/5 * * * *"}])
    assert api.refused("PUT", schedules, [{"cron": "0 16 * * 0"}]) == (400, 10100)
    kept = [item["cron"] for item in api.ok("GET", schedules)["schedules"]]
    assert kept == ["0 9 * * MON-FRI", "*/5 * * * *"]
    assert api.host.worlds[-1]["workers"][0]["crons"] == kept


def test_workers_dev_is_switched_by_either_api(api: Api) -> None:
    api.put_script()
    path = "/a/workers/scripts/chat/subdomain"
    assert api.ok("GET", path) == {"enabled": False, "previews_enabled": False}
    assert api.ok("POST", path, {"enabled": True}) == {"enabled": True, "previews_enabled": True}
    assert api.ok("POST", path, {"enabled": True, "previews_enabled": False})["previews_enabled"] is False
    assert api.ok("GET", "/a/workers/workers/chat")["subdomain"]["url"] == "https://chat.local.workers.dev"
    assert api.ok("DELETE", path) == {"enabled": False, "previews_enabled": False}


def test_version_urls_bring_the_newest_versions_into_the_world(api: Api) -> None:
    api.put_script()
    draft = api.version()["id"]
    assert draft not in [v["id"] for v in api.host.worlds[-1]["workers"][0]["versions"]]
    api.ok("POST", "/a/workers/scripts/chat/subdomain", {"enabled": True, "previews_enabled": True})
    assert draft in [v["id"] for v in api.host.worlds[-1]["workers"][0]["versions"]]
    assert api.ok("GET", f"/a/workers/workers/chat/versions/{draft}")["urls"] == [
        f"https://{draft[:8]}-chat.local.workers.dev"
    ]


def test_a_worker_that_others_bind_to_is_kept(api: Api) -> None:
    api.put_script("inference")
    api.put_script("chat", bindings=[{"name": "INF", "type": "service", "service": "inference"}])
    assert api.refused("DELETE", "/a/workers/scripts/inference") == (400, 10064)
    api.ok("DELETE", "/a/workers/scripts/inference?force=true")
    assert [worker["name"] for worker in api.host.worlds[-1]["workers"]] == ["chat"]


def test_secrets_are_kept_by_multipart_uploads_and_replaced_by_json_ones(api: Api) -> None:
    api.put_script(bindings=[{"name": "KEY", "type": "secret_text", "text": "s"}])
    api.put_script(bindings=[{"name": "TEXT", "type": "plain_text", "text": "t"}])
    held = [b["name"] for b in api.ok("GET", "/a/workers/scripts/chat/settings")["bindings"]]
    assert held == ["TEXT", "KEY"]
    assert [b["name"] for b in api.version(bindings=[])["bindings"]] == []


def test_wr_07_a_plain_upload_drops_foreign_variables_unless_kept(api: Api) -> None:
    api.put_script(bindings=[{"name": "FEATURE_X", "type": "plain_text", "text": "on"}])
    kept = api.upload(keep_bindings=["plain_text"]).json()["result"]["resources"]["bindings"]
    assert [b["name"] for b in kept] == ["FEATURE_X"]
    assert api.upload().json()["result"]["resources"]["bindings"] == []
