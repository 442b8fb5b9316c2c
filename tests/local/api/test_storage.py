"""KV and R2 by REST."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.local.api.conftest import Api

KV = "/a/storage/kv/namespaces"
R2 = "/a/r2/buckets"


@pytest.fixture
def namespace(api: Api) -> str:
    return f"{KV}/{api.ok('POST', KV, {'title': 'cache'})['id']}"


def test_a_namespace_is_made_renamed_listed_and_deleted(api: Api, namespace: str) -> None:
    assert api.ok("GET", namespace)["supports_url_encoding"] is True
    assert api.ok("PUT", namespace, {"title": "other"})["title"] == "other"
    assert [n["title"] for n in api.ok("GET", KV)] == ["other"]
    assert api.host.worlds[-1]["kv"] == [api.ok("GET", namespace)["id"]]
    api.ok("DELETE", namespace)
    assert api.refused("GET", namespace) == (404, 10013)
    assert api.refused("DELETE", namespace) == (404, 10013)


def test_a_title_is_taken_once(api: Api, namespace: str) -> None:
    assert api.refused("POST", KV, {"title": "cache"}) == (400, 10014)
    assert api.refused("POST", KV, {"title": " "}) == (400, 10019)
    assert api.ok("PUT", namespace, {"title": "cache"})["title"] == "cache"


@pytest.mark.parametrize(
    "key",
    [
        "plain",
        "rollouts%2Fchat",
        "%E6%A7%93%E6%A1%BF%20%F0%9F%98%80",
        "a%3Fb%23c",
        "%2Flead",
        "a%0D%0Ab",
        "%0A",
        "a%00b",
    ],
)
def test_a_value_is_written_raw_and_as_a_form(api: Api, namespace: str, key: str) -> None:
    api.ok("PUT", f"{namespace}/values/{key}", content=b"\x00raw\xff")
    assert api("GET", f"{namespace}/values/{key}").content == b"\x00raw\xff"
    assert api.ok("GET", f"{namespace}/metadata/{key}") is None
    form = {"value": (None, b"formed"), "metadata": (None, json.dumps({"who": "槓桿"}).encode())}
    api.ok("PUT", f"{namespace}/values/{key}", files=form)
    assert api("GET", f"{namespace}/values/{key}").text == "formed"
    assert api.ok("GET", f"{namespace}/metadata/{key}") == {"who": "槓桿"}
    api.ok("DELETE", f"{namespace}/values/{key}")
    assert api.refused("GET", f"{namespace}/values/{key}") == (404, 10009)
    assert api.refused("GET", f"{namespace}/metadata/{key}") == (404, 10009)


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("values/" + "k" * 513, b"", 414),
        ("values/" + "%E6%A7%93" * 171, b"", 414),
        ("values/k?expiration_ttl=59", b"", 400),
        ("values/k?expiration_ttl=x", b"", 400),
        ("values/k?expiration=1", b"", 400),
        ("values/k?expiration_ttl=" + "9" * 400, b"", 400),
        ("values/k?expiration=" + "9" * 4500, b"", 400),
        ("values/k", b"x" * (25 * 1024 * 1024 + 1), 413),
    ],
)
def test_kv_limits(api: Api, namespace: str, path: str, content: bytes, status: int) -> None:
    assert api.refused("PUT", f"{namespace}/{path}", content=content)[0] == status
    assert api.host.kv == {}


def test_metadata_has_a_limit_of_its_own(api: Api, namespace: str) -> None:
    form = {"value": (None, b"v"), "metadata": (None, json.dumps("x" * 1023).encode())}
    assert api.refused("PUT", f"{namespace}/values/k", files=form)[0] == 413
    for odd in (b"{", b'"\\ud800"', b"[" * 50_000):
        form["metadata"] = (None, odd)
        assert api.refused("PUT", f"{namespace}/values/k", files=form)[0] == 400
    files = {"value": ("v", b"v"), "metadata": ("m", b"\xff\xfe")}
    assert api.refused("PUT", f"{namespace}/values/k", files=files)[0] == 400


@pytest.mark.parametrize(
    "content",
    [
        b'[{"key": "\\ud800", "value": "x"}]',
        b'[{"key": "k", "value": "\\ud800"}]',
        b'[{"key": "k", "value": "x", "metadata": "\\ud800"}]',
        '[{"key": "k", "value": "é", "base64": true}]'.encode(),
        b'[{"key": "k", "value": "x", "expiration_ttl": 1e999}]',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_odd_pairs_in_bulk_are_refused_and_write_nothing(api: Api, namespace: str, content: bytes) -> None:
    assert api.refused("PUT", f"{namespace}/bulk", content=content)[0] == 400
    assert api.host.kv == {}


def test_a_value_that_is_not_json_can_not_be_read_as_json(api: Api, namespace: str) -> None:
    api.ok("PUT", f"{namespace}/values/k", content=b"not json")
    assert api.refused("POST", f"{namespace}/bulk/get", {"keys": ["k"], "type": "json"})[0] == 400


@pytest.mark.parametrize("key", ["%2E", "%2E%2E", "k" * 1025])
def test_an_object_needs_a_key_that_a_url_can_hold(api: Api, key: str) -> None:
    api.ok("POST", R2, {"name": "models"})
    for method in ("PUT", "GET", "DELETE"):
        assert api.refused(method, f"{R2}/models/objects/{key}")[0] == 400


def test_keys_are_written_read_and_deleted_in_bulk(api: Api, namespace: str) -> None:
    pairs: list[dict[str, Any]] = [{"key": f"k{i}", "value": str(i)} for i in range(50)]
    pairs.append({"key": "binary", "value": "AAEC", "base64": True, "metadata": {"n": 1}})
    assert api.ok("PUT", f"{namespace}/bulk", pairs)["successful_key_count"] == 51
    assert api("GET", f"{namespace}/values/binary").content == b"\x00\x01\x02"
    assert api.ok("POST", f"{namespace}/bulk/get", {"keys": ["k1", "none"]})["values"] == {"k1": "1", "none": None}
    found = api.ok("POST", f"{namespace}/bulk/get", {"keys": ["binary"], "withMetadata": True})["values"]
    assert found["binary"]["metadata"] == {"n": 1}
    listed = api("GET", f"{namespace}/keys?prefix=k&limit=1000").json()
    assert len(listed["result"]) == 50 and listed["result_info"] == {"count": 50, "cursor": ""}
    api.ok("POST", f"{namespace}/bulk/delete", [f"k{i}" for i in range(50)])
    assert [key["name"] for key in api.ok("GET", f"{namespace}/keys")] == ["binary"]


def test_one_bad_pair_stops_a_bulk_write_before_it_begins(api: Api, namespace: str) -> None:
    pairs: list[dict[str, Any]] = [{"key": "good", "value": "1"}, {"key": "k" * 600, "value": "2"}]
    assert api.refused("PUT", f"{namespace}/bulk", pairs)[0] == 414
    assert api.host.kv == {}


def test_a_bucket_is_made_found_and_deleted(api: Api) -> None:
    made = api.ok("POST", R2, {"name": "models", "locationHint": "weur", "storageClass": "Standard"})
    assert made["storage_class"] == "Standard" and made["jurisdiction"] == "default"
    assert api.ok("GET", f"{R2}/models") == made
    assert [b["name"] for b in api.ok("GET", R2)["buckets"]] == ["models"]
    assert api.refused("POST", R2, {"name": "models"}) == (409, 10004)
    api.ok("DELETE", f"{R2}/models")
    assert api.refused("GET", f"{R2}/models") == (404, 10006)


@pytest.mark.parametrize("name", ["", "ab", "Upper", "under_score", "-lead", "trail-", "a" * 64, "dot.ted", None])
def test_a_bad_bucket_name_is_refused(api: Api, name: object) -> None:
    assert api.refused("POST", R2, {"name": name}) == (400, 10005)


def test_tf_06_the_location_is_answered_in_capitals_and_outlives_the_bucket(api: Api) -> None:
    assert api.ok("POST", R2, {"name": "models", "locationHint": "enam"})["location"] == "ENAM"
    api.ok("DELETE", f"{R2}/models")
    assert api.ok("POST", R2, {"name": "models", "locationHint": "APAC"})["location"] == "ENAM"
    assert api.refused("POST", R2, {"name": "other", "locationHint": "moon"})[0] == 400


def test_tf_06_a_bucket_of_a_jurisdiction_is_not_there_without_its_header(api: Api) -> None:
    eu = {"cf-r2-jurisdiction": "eu"}
    api.ok("POST", R2, {"name": "models"}, headers=eu)
    assert api.refused("GET", f"{R2}/models") == (404, 10006)
    assert api.refused("PUT", f"{R2}/models/objects/k", content=b"x") == (404, 10006)
    assert api.ok("GET", f"{R2}/models", headers=eu)["jurisdiction"] == "eu"
    api.ok("POST", R2, {"name": "models"})
    assert api.host.worlds[-1]["r2"] == [
        {"id": "eu_models", "name": "models", "jurisdiction": "eu"},
        {"id": "models", "name": "models", "jurisdiction": "default"},
    ]
    eu_binding = {"name": "M", "type": "r2_bucket", "bucket_name": "models", "jurisdiction": "fedramp"}
    assert api.put_script(bindings=[eu_binding]).json()["errors"][0]["code"] == 10085
    assert api.put_script(bindings=[{**eu_binding, "jurisdiction": "eu"}]).is_success


def test_objects_are_written_read_listed_and_deleted(api: Api) -> None:
    api.ok("POST", R2, {"name": "models"})
    api.ok("PUT", f"{R2}/models/objects/a/b%20c.bin", content=b"\x00\xff", headers={"content-type": "model/onnx"})
    got = api("GET", f"{R2}/models/objects/a/b%20c.bin")
    assert got.content == b"\x00\xff" and got.headers["content-type"] == "model/onnx"
    assert [o["key"] for o in api.ok("GET", f"{R2}/models/objects")] == ["a/b c.bin"]
    assert api.refused("DELETE", f"{R2}/models") == (409, 10008)
    api.ok("DELETE", f"{R2}/models/objects/a/b%20c.bin")
    assert api.refused("GET", f"{R2}/models/objects/a/b%20c.bin") == (404, 10007)
    api.ok("DELETE", f"{R2}/models")


def test_lifecycle_rules_are_replaced_whole(api: Api) -> None:
    api.ok("POST", R2, {"name": "models"})
    assert [r["id"] for r in api.ok("GET", f"{R2}/models/lifecycle")["rules"]] == ["Default Multipart Abort Rule"]
    rule = {
        "id": "abort",
        "enabled": True,
        "conditions": {"prefix": ""},
        "abortMultipartUploadsTransition": {"condition": {"type": "Age", "maxAge": 86400}},
    }
    api.ok("PUT", f"{R2}/models/lifecycle", {"rules": [rule]})
    assert api.ok("GET", f"{R2}/models/lifecycle") == {"rules": [rule]}
    assert api.refused("PUT", f"{R2}/models/lifecycle", {"rules": [rule, rule]}) == (400, 10012)
    assert api.refused("PUT", f"{R2}/models/lifecycle", {"rules": [{"id": "x"}]}) == (400, 10012)
