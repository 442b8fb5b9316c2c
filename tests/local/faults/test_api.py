"""Faults of Cloudflare's API: whom they hit, what the caller sees, and on which side of the change they strike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cloudflare
import httpx
import pytest
from starlette.applications import Starlette

from sluiceway.local.api.app import routes
from sluiceway.local.faults import errors, hook
from sluiceway.local.faults.active import Faults
from sluiceway.local.faults.call import CallFault
from sluiceway.local.faults.engine import DroppedError
from sluiceway.local.faults.products import PRODUCTS, S3, product
from sluiceway.local.faults.read import read_fault
from sluiceway.local.faults.when import BadFaultError
from sluiceway.local.runtime_file import ACCOUNT_ID
from tests.local.api.conftest import Api

A = f"/accounts/{ACCOUNT_ID}"


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def api(tmp_path: Path, faults: Faults) -> Any:  # noqa: ANN401 - a generator
    made = Api(tmp_path)
    made.client = httpx.AsyncClient(
        transport=httpx.ASGITransport(Starlette(routes=routes(made.control, faults))), base_url="http://api/client/v4"
    )
    yield made
    made.close()
    made.runner.close()


def add(faults: Faults, **fields: Any) -> None:  # noqa: ANN401
    faults.add(read_fault(fields))


@pytest.mark.parametrize(
    ("path", "of"),
    [
        ("/workers/workers", "workers"),
        ("/workers/workers/chat", "workers"),
        ("/workers/workers/chat/versions", "worker-versions"),
        ("/workers/scripts/chat/versions/1", "worker-versions"),
        ("/workers/scripts/chat/deployments", "deployments"),
        ("/workers/scripts/chat/schedules", "schedules"),
        ("/workers/scripts/chat/subdomain", "subdomain"),
        ("/workers/subdomain", "subdomain"),
        ("/workers/scripts/chat/secrets-bulk", "secrets"),
        ("/workers/domains", "domains"),
        ("/storage/kv/namespaces", "kv"),
        ("/storage/kv/namespaces/1/values/a/b", "kv-values"),
        ("/r2/buckets/models/lifecycle", "r2"),
        ("/r2/buckets/models/objects/a\nb", "r2-objects"),
        ("/ai-gateway/gateways/g", "ai-gateway"),
        ("/queues", "queues"),
        ("/tokens/verify", "tokens"),
        ("", "accounts"),
    ],
)
def test_each_path_of_an_account_has_its_product(path: str, of: str) -> None:
    assert product(A + path) == of


def test_zones_and_the_user_have_products_too() -> None:
    paths = ("/zones", "/zones/z", "/zones/z/workers/routes/1", "/zones/z/rulesets", "/zones/z/dns_records", "/user")
    assert [product(path) for path in paths] == ["zones", "zones", "routes", "rulesets", "dns", "tokens"]
    assert product("/nothing/here") is None


def test_every_path_that_the_api_serves_has_a_product(api: Api) -> None:
    served = [route.path.removeprefix(hook.BASE) for route in routes(api.control)]  # type: ignore[attr-defined]
    named = [path for path in served if not path.startswith("/_local/") and "rest}" not in path.split("/")[1]]
    assert len(named) > 60
    assert {path: product(path) for path in named if product(path) not in PRODUCTS} == {}


def test_a_fault_hits_its_product_method_and_path_alone(api: Api, faults: Faults) -> None:
    add(faults, api=["kv"], methods=["POST"], paths=["/storage/kv/*"], status=500)
    assert api.refused("POST", "/a/storage/kv/namespaces", {"title": "t"}) == (500, 10002)
    assert api.ok("GET", "/a/storage/kv/namespaces") == []
    assert api.ok("POST", "/a/queues", {"queue_name": "q"})["queue_name"] == "q"
    assert faults.as_json()[0]["hits"] == 1


def test_the_first_calls_alone_are_hit_by_a_count(api: Api, faults: Faults) -> None:
    add(faults, api=["all"], status=503, count=2)
    assert [api("GET", "/a/queues").status_code for _ in range(3)] == [503, 503, 200]


def test_a_call_that_may_not_be_made_is_refused_before_any_fault(api: Api, faults: Faults) -> None:
    add(faults, api=["all"], status=500)
    assert api.refused("GET", "/a/queues", headers={"authorization": "Bearer no"}) == (401, 10000)
    assert faults.as_json()[0]["considered"] == 0


def test_what_only_the_local_stage_has_is_never_hit(api: Api, faults: Faults) -> None:
    add(faults, api=["all"], status=500)
    assert api("GET", "/_local/main_worker").status_code == 200


def test_before_the_change_nothing_is_made_and_after_it_all_is(api: Api, faults: Faults) -> None:
    add(faults, api=["queues"], methods=["POST"], status=503, count=1)
    add(faults, api=["queues"], methods=["POST"], status=504, after=True, count=1)
    add(faults, api=["queues"], methods=["POST"], drop=True, after=True, count=1)
    for number, made in enumerate([[], ["q1"], ["q1", "q2"]]):
        try:
            assert not api("POST", "/a/queues", {"queue_name": f"q{number}"}).is_success
        except DroppedError:
            assert number == 2
        assert sorted(queue["queue_name"] for queue in api.ok("GET", "/a/queues")) == made


def test_a_late_answer_is_of_a_call_that_was_made_once(api: Api, faults: Faults) -> None:
    add(faults, api=["queues"], delay_ms=1, after=True)
    assert api.ok("POST", "/a/queues", {"queue_name": "q"})["queue_name"] == "q"


def test_too_many_calls_are_told_with_the_headers_that_clients_read(api: Api, faults: Faults) -> None:
    add(faults, api=["all"], status=429, retry_after=7)
    answer = api("GET", "/a/queues")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (429, 971)
    kept = {name: answer.headers[name] for name in ("retry-after", "ratelimit", "ratelimit-policy")}
    assert kept == {"retry-after": "7", "ratelimit": '"default";r=0;t=7', "ratelimit-policy": '"default";q=1200;w=300'}


@pytest.mark.parametrize(
    ("fields", "path", "code"),
    [
        ({"status": 500}, "/workers/workers", 10013),
        ({"status": 500}, "/r2/buckets", 10001),
        ({"status": 503}, "/r2/buckets", 10043),
        ({"status": 503}, "/queues", 7010),
        ({"status": 500, "code": 11111}, "/queues", 11111),
    ],
)
def test_a_product_has_its_own_numbers(fields: dict[str, Any], path: str, code: int) -> None:
    told = errors.of_api(CallFault.model_validate({"api": ["all"], **fields}), A + path)
    assert json.loads(told.body)["errors"][0]["code"] == code


@pytest.mark.parametrize("status", [502, 504, 522])
def test_what_the_edge_answers_by_itself_is_no_json(status: int) -> None:
    told = errors.of_api(CallFault(api=["all"], status=status), A)
    assert told.headers["content-type"] == "text/html"
    assert str(status).encode() in told.body


def test_the_official_sdk_retries_and_gets_through(api: Api, faults: Faults) -> None:
    add(faults, api=["queues"], status=429, retry_after=0, count=1)
    client = cloudflare.AsyncCloudflare(
        api_token="token-of-tests", base_url="http://api/client/v4", http_client=api.client, max_retries=1
    )

    async def ask() -> int:
        return len([queue async for queue in client.queues.list(account_id=ACCOUNT_ID)])

    assert api.run(ask()) == 0
    assert faults.as_json()[0]["hits"] == 1


def test_the_door_of_s3_is_told_what_a_call_meets(faults: Faults) -> None:
    assert not faults.any_s3
    add(faults, api=[S3], methods=["PUT"], paths=["/models/*"], status=503, after=True, count=1)
    assert faults.any_s3
    assert hook.s3(faults, "GET", "/models/a") is None
    met = hook.s3(faults, "PUT", "/models/a")
    assert met and (met["after"], met["answer"]["status"]) == (True, 503)
    assert "<Code>ServiceUnavailable</Code>" in met["answer"]["body"]
    assert hook.s3(faults, "PUT", "/models/a") is None


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "fault"),
        ({"after": True}, "fault"),
        ({"status": 500, "drop": True}, "fault"),
        ({"delay_ms": 5, "code": 10013}, "fault"),
        ({"drop": True, "retry_after": 3}, "fault"),
        ({"status": 200}, "status"),
        ({"drop": True, "api": ["kw"]}, "api"),
        ({"drop": True, "api": []}, "api"),
        ({"drop": True, "methods": ["post"]}, "methods"),
        ({"drop": True, "models": ["*"]}, "models"),
        ({"drop": True, "cut_after": 3}, "cut_after"),
    ],
    ids=str,
)
def test_what_is_no_fault_of_the_api_is_refused_by_the_name_of_its_field(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(BadFaultError) as caught:
        read_fault({"api": ["all"], **fields})
    assert caught.value.path == path
    assert caught.value.hint
