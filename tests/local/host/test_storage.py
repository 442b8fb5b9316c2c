"""KV and R2 from outside: what the admin API stores is what a Worker reads, byte for byte, and back."""

from __future__ import annotations

import json
import os
import time
from urllib.parse import quote, unquote

import pytest

from tests.local.host.driver import Host, Version

BUCKETS = [
    {"id": "models", "name": "models", "jurisdiction": "default"},
    {"id": "eu_models", "name": "models", "jurisdiction": "eu"},
]
READER = """
export default { async fetch(request, env) {
  const key = new URL(request.url).searchParams.get("key");
  if (request.method === "PUT") {
    await env.KV.put(key, request.body);
    await env.R2.put(key, "from a Worker");
    return new Response("ok");
  }
  const text = async (bucket) => (await (await bucket.get(key))?.text()) ?? null;
  return Response.json({ kv: await env.KV.getWithMetadata(key), r2: await text(env.R2), eu: await text(env.EU) });
} };
"""
KEYS = ["plain", "a/b/../c", "模型/é ü.bin", "100%?#&+", "😀", "a" * 512]


VERSION = Version(
    {"index.js": READER},
    bindings=[
        {"name": "KV", "type": "kv_namespace", "namespace_id": "cache"},
        {"name": "R2", "type": "r2_bucket", "bucket_name": "models"},
        {"name": "EU", "type": "r2_bucket", "bucket_name": "models", "jurisdiction": "eu"},
    ],
)


@pytest.fixture
def stored(host: Host) -> Host:
    host.apply(host.worker("reader", [(VERSION, 100)]), kv=["cache", "other"], r2=BUCKETS)
    return host


@pytest.mark.parametrize("key", KEYS)
def test_a_kv_value_goes_in_and_out_under_any_key(stored: Host, key: str) -> None:
    path = stored.kv("cache", key)
    metadata = {"note": "día 模"}
    put = stored.admin.put(path, content=key.encode(), headers={"x-kv-metadata": quote(json.dumps(metadata))})
    assert put.status_code == 200, put.text
    got = stored.admin.get(path)
    assert got.content == key.encode()
    assert json.loads(unquote(got.headers["x-kv-metadata"])) == metadata
    seen = stored.get(f"/?key={quote(key, safe='')}").json()["kv"]
    assert (seen["value"], seen["metadata"]) == (key, metadata)
    assert key in [entry["name"] for entry in stored.admin.get("/kv/cache/keys").json()["keys"]]
    assert stored.admin.delete(path).status_code == 200
    assert stored.admin.get(path).status_code == 404
    assert stored.admin.get(stored.kv("other", key)).status_code == 404


def test_kv_lists_by_prefix_in_pages_with_expiration_and_metadata(stored: Host) -> None:
    for number in range(5):
        stored.admin.put(stored.kv("other", f"page/{number}"), content=b"x")
    later = int(time.time()) + 3600
    stored.admin.put(
        stored.kv("other", "page/5"),
        content=b"x",
        params={"expiration": later},
        headers={"x-kv-metadata": quote('{"a":1}')},
    )
    stored.admin.put(stored.kv("other", "else"), content=b"x", params={"expiration_ttl": 60})
    first = stored.admin.get("/kv/other/keys", params={"prefix": "page/", "limit": 4}).json()
    assert [entry["name"] for entry in first["keys"]] == [f"page/{number}" for number in range(4)]
    assert first["list_complete"] is False
    rest = stored.admin.get("/kv/other/keys", params={"prefix": "page/", "cursor": first["cursor"]}).json()
    assert rest == {
        "keys": [{"name": "page/4"}, {"name": "page/5", "expiration": later, "metadata": {"a": 1}}],
        "list_complete": True,
        "cursor": None,
    }


@pytest.mark.long
def test_20_mb_pass_through_kv_and_r2_unchanged(stored: Host) -> None:
    content = os.urandom(20 << 20)
    for path in (stored.kv("cache", "big"), stored.object("models", "big")):
        assert stored.admin.put(path, content=content).status_code == 200
        assert stored.admin.get(path).content == content


def test_a_kv_value_over_25_mib_is_refused_with_its_reason(stored: Host) -> None:
    answer = stored.admin.put(stored.kv("cache", "huge"), content=b"x" * ((25 << 20) + 1))
    assert answer.status_code == 413
    assert "limit" in answer.json()["error"]["message"]


def test_an_empty_value_is_a_value(stored: Host) -> None:
    for path in (stored.kv("cache", "empty"), stored.object("models", "empty")):
        assert stored.admin.put(path, content=b"").status_code == 200
        got = stored.admin.get(path)
        assert (got.status_code, got.content) == (200, b"")


@pytest.mark.parametrize("key", KEYS)
def test_an_r2_object_goes_in_and_out_under_any_key(stored: Host, key: str) -> None:
    path = stored.object("models", key)
    custom = {"sha256": "ab", "note": "模"}
    headers = {"content-type": "model/onnx", "cache-control": "max-age=1", "x-r2-metadata": quote(json.dumps(custom))}
    put = stored.admin.put(path, content=key.encode(), headers=headers).json()
    assert (put["key"], put["size"], put["custom_metadata"]) == (key, len(key.encode()), custom)
    head = stored.admin.head(path)
    assert head.headers["x-r2-size"] == str(len(key.encode()))
    got = stored.admin.get(path)
    assert got.content == key.encode()
    assert got.headers["content-type"] == "model/onnx" and got.headers["cache-control"] == "max-age=1"
    assert got.headers["etag"] == put["http_etag"] == head.headers["etag"]
    assert json.loads(unquote(got.headers["x-r2-metadata"])) == custom
    assert stored.get(f"/?key={quote(key, safe='')}").json()["r2"] == key
    listed = stored.admin.get("/r2/models/objects").json()["objects"]
    assert [one["custom_metadata"] for one in listed if one["key"] == key] == [custom]
    assert stored.admin.delete(path).status_code == 200
    assert stored.admin.get(path).status_code == stored.admin.head(path).status_code == 404


def test_tf_06_buckets_of_one_name_in_two_jurisdictions_are_two_buckets(stored: Host) -> None:
    stored.admin.put(stored.object("models", "where"), content=b"default")
    assert stored.get("/?key=where").json()["eu"] is None
    stored.admin.put(stored.object("eu_models", "where"), content=b"eu")
    seen = stored.get("/?key=where").json()
    assert (seen["r2"], seen["eu"]) == ("default", "eu")


def test_what_a_worker_writes_is_seen_from_outside(stored: Host) -> None:
    stored.client.put("/?key=mine", content=b"value")
    assert stored.admin.get(stored.kv("cache", "mine")).content == b"value"
    assert stored.admin.get(stored.object("models", "mine")).content == b"from a Worker"


def test_an_unknown_namespace_or_bucket_is_told(stored: Host) -> None:
    assert stored.admin.get(stored.kv("absent", "k")).json()["error"]["message"] == "namespace not found"
    assert stored.admin.get("/r2/absent/objects").json()["error"]["message"] == "bucket not found"
    assert stored.admin.get("/kv/cache/nonsense").status_code == 404


def test_r2_lists_in_pages_with_prefix_and_delimiter(stored: Host) -> None:
    for number in range(3):
        stored.admin.put(stored.object("eu_models", f"dir/{number}"), content=b"x")
    page = stored.admin.get("/r2/eu_models/objects", params={"prefix": "dir/", "limit": 2}).json()
    assert [one["key"] for one in page["objects"]] == ["dir/0", "dir/1"] and page["truncated"]
    rest = stored.admin.get("/r2/eu_models/objects", params={"prefix": "dir/", "cursor": page["cursor"]}).json()
    assert [one["key"] for one in rest["objects"]] == ["dir/2"] and rest["cursor"] is None
    folded = stored.admin.get("/r2/eu_models/objects", params={"delimiter": "/"}).json()
    assert folded["delimited_prefixes"] == ["dir/"]


def test_a_new_namespace_keeps_what_is_in_the_others(stored: Host) -> None:
    stored.admin.put(stored.kv("cache", "stays"), content=b"1")
    stored.apply(kv=["cache", "other", "third"], r2=BUCKETS)
    assert stored.admin.get(stored.kv("cache", "stays")).content == b"1"
    assert stored.admin.get("/kv/third/keys").json()["keys"] == []
