"""Bodies of the wrong shape: refused, never a crash."""

from __future__ import annotations

import itertools

import pytest

from tests.local.api.conftest import ZONE, Api, multipart

ODD: list[object] = [None, 0, -1, 1.5, True, "", "x", [], [1], ["x"], [[]], {}, {"x": 1}, [{}], [None], {"name": []}]
# (method, path, a body that would do)
CALLS: list[tuple[str, str, dict[str, object]]] = [
    ("POST", "/a/workers/workers", {"name": "n", "subdomain": {}, "observability": {"logs": {}}, "tags": []}),
    (
        "POST",
        "/a/workers/workers/chat/versions",
        {
            "main_module": "a.js",
            "modules": [{"name": "a.js", "content_type": "text/plain", "content_base64": ""}],
            "bindings": [{"name": "A", "type": "ai"}],
            "annotations": {},
            "exports": {"A": {"type": "durable-object"}},
            "keep_bindings": [],
            "compatibility_date": "2026-07-01",
            "compatibility_flags": [],
        },
    ),
    ("POST", "/a/workers/workers/chat/versions", {"main_module": "a.js", "migrations": {"new_sqlite_classes": ["A"]}}),
    ("POST", "/a/workers/scripts/chat/deployments", {"strategy": "percentage", "versions": [{}], "annotations": {}}),
    ("POST", "/a/workers/scripts/chat/subdomain", {"enabled": True, "previews_enabled": True}),
    ("PATCH", "/a/workers/scripts/chat/script-settings", {"observability": {}, "tags": [], "tail_consumers": []}),
    ("PUT", "/a/workers/scripts/chat/secrets", {"name": "K", "text": "t", "type": "secret_text"}),
    ("PATCH", "/a/workers/scripts/chat/secrets-bulk", {"secrets": {"K": {"text": "t"}}}),
    ("PUT", "/a/workers/domains", {"hostname": "a.sluiceway.test", "service": "chat", "zone_id": ZONE}),
    ("PUT", "/a/workers/scripts/chat/domains/records", {"origins": [{"hostname": "a.sluiceway.test"}]}),
    ("POST", f"/zones/{ZONE}/workers/routes", {"pattern": "sluiceway.test/*", "script": "chat"}),
    ("POST", f"/zones/{ZONE}/dns_records", {"type": "A", "name": "x", "content": "y"}),
    ("POST", f"/zones/{ZONE}/rulesets", {"kind": "zone", "phase": "http_ratelimit", "name": "n", "rules": [{}]}),
    ("PUT", f"/zones/{ZONE}/rulesets/phases/http_ratelimit/entrypoint", {"rules": [{"action": "block"}]}),
    ("POST", "/zones", {"name": "x.test"}),
    ("POST", "/a/storage/kv/namespaces", {"title": "t"}),
    ("POST", "/a/r2/buckets", {"name": "abc", "locationHint": "weur", "storageClass": "Standard"}),
    ("PUT", "/a/r2/buckets/models/lifecycle", {"rules": [{"id": "a", "enabled": True, "conditions": {"prefix": ""}}]}),
    ("POST", "/a/queues", {"queue_name": "q", "settings": {"delivery_delay": 1}}),
    ("POST", "/a/ai-gateway/gateways", {"id": "g", "cache_ttl": 0, "rate_limiting_technique": "fixed"}),
    ("PUT", "/_local/main_worker", {"name": "chat"}),
]


@pytest.mark.parametrize(("method", "path", "good"), CALLS)
def test_a_field_of_the_wrong_shape_is_no_crash(api: Api, method: str, path: str, good: dict[str, object]) -> None:
    api.put_script()
    api.ok("POST", "/a/r2/buckets", {"name": "models"})
    failed = []
    for field, odd in itertools.product(good, ODD):
        answer = api(method, path, {**good, field: odd})
        if answer.status_code >= 500:
            failed.append((field, odd))
    assert failed == []
    api.ok("GET", "/_local/world")


@pytest.mark.parametrize("path", ["schedules", "routes", "domains/changeset"])
def test_an_entry_of_the_wrong_shape_is_no_crash(api: Api, path: str) -> None:
    api.put_script()
    method = "POST" if path.endswith("changeset") else "PUT"
    failed = [odd for odd in ODD if api(method, f"/a/workers/scripts/chat/{path}", [odd]).status_code >= 500]
    assert failed == []


def test_odd_metadata_of_an_upload_is_no_crash(api: Api) -> None:
    fields = ["main_module", "bindings", "compatibility_date", "compatibility_flags", "exports", "migrations"]
    fields += ["annotations", "keep_bindings", "observability", "tags", "tail_consumers", "placement", "limits"]
    failed = [
        (field, odd)
        for field, odd in itertools.product(fields, ODD)
        if api("PUT", "/a/workers/scripts/odd", files=multipart("export default {}", {field: odd})).status_code >= 500
    ]
    assert failed == []
