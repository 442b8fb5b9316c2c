"""Calls whose answer is lost, late or an error: made once, found again, or told with how to go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.local.faults.call import METHODS
from sluiceway.local.runtime_file import ACCOUNT_ID
from tests.local.api.conftest import ZONE as LOCAL_ZONE
from tests.local.api.conftest import Api
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.faulty import FaultyDriver
from tests.unit.provider.harness import ACCOUNT, ZONE, Made
from tests.unit.provider.samples import CODE, SAMPLES

WRITES = [method for method in METHODS if method not in ("GET", "HEAD")]
WAYS: dict[str, dict[str, Any]] = {
    "lost": {"drop": True, "after": True},
    "lost at the edge": {"status": 504, "after": True},
    "dropped before": {"drop": True},
    "failed": {"status": 500},
    "busy": {"status": 429, "retry_after": 1},
}
Wanted = Callable[[FaultyDriver], dict[str, Any]]


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[FaultyDriver]:
    api = Api(tmp_path)
    yield FaultyDriver(FakeCloudflare(), api=api)
    api.close()
    api.runner.close()


def sample(kind: str) -> dict[str, Any]:
    text = json.dumps({key: item for key, item in SAMPLES[kind].items() if key != "bindings"})
    text = text.replace("fake.test", "sluiceway.test").replace(ZONE, LOCAL_ZONE).replace(ACCOUNT, ACCOUNT_ID)
    return dict(json.loads(text))


def plain(kind: str) -> Wanted:
    return lambda _: sample(kind)


def of_a_worker(kind: str) -> Wanted:
    def wanted(driver: FaultyDriver) -> dict[str, Any]:
        driver.api.worker("gateway")
        return sample(kind)

    return wanted


def version(driver: FaultyDriver) -> dict[str, Any]:
    bindings = [
        {"name": "TEXT", "type": "plain_text", "text": "a"},
        {"name": "KEY", "type": "secret_text", "text": "s"},
    ]
    return {**sample("WorkerVersion"), "workerId": driver.api.worker("gateway"), "bindings": bindings}


def deployment(driver: FaultyDriver) -> dict[str, Any]:
    driver.api.worker("gateway")
    versions = [{"versionId": driver.api.version("gateway")["id"], "percentage": 100}]
    return {**sample("WorkersDeployment"), "versions": versions, "annotations": {"workersMessage": "hello"}}


def lifecycle(driver: FaultyDriver) -> dict[str, Any]:
    driver.create("R2Bucket", sample("R2Bucket"))
    return sample("R2BucketLifecycle")


def value(driver: FaultyDriver) -> dict[str, Any]:
    return {**sample("WorkersKv"), "namespaceId": driver.create("WorkersKvNamespace", sample("WorkersKvNamespace")).rid}


KINDS: dict[str, tuple[Wanted, str]] = {
    "Worker": (plain("Worker"), "/a/workers/workers"),
    "WorkerVersion": (version, "/a/workers/workers/gateway/versions"),
    "WorkersDeployment": (deployment, "/a/workers/scripts/gateway/deployments"),
    "WorkersScriptSubdomain": (of_a_worker("WorkersScriptSubdomain"), ""),
    "WorkersRoute": (of_a_worker("WorkersRoute"), "/zones/{z}/workers/routes"),
    "WorkersCustomDomain": (of_a_worker("WorkersCustomDomain"), "/a/workers/domains"),
    "WorkersCronTrigger": (of_a_worker("WorkersCronTrigger"), ""),
    "WorkersKvNamespace": (plain("WorkersKvNamespace"), "/a/storage/kv/namespaces"),
    "WorkersKv": (value, ""),
    "R2Bucket": (plain("R2Bucket"), "/a/r2/buckets"),
    "R2BucketLifecycle": (lifecycle, ""),
    "Ruleset": (plain("Ruleset"), "/zones/{z}/rulesets"),
    "AiGateway": (plain("AiGateway"), "/a/ai-gateway/gateways"),
    "Queue": (plain("Queue"), "/a/queues"),
}


def how_many(driver: FaultyDriver, listing: str) -> int:
    if not listing:
        return 1
    found = driver.api.ok("GET", listing, headers={"cf-r2-jurisdiction": "eu"})
    while isinstance(found, dict):
        (found,) = found.values()
    return len(found)


def test_every_row_is_here() -> None:
    assert KINDS.keys() == SAMPLES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_late_or_refused_once_is_made_once(driver: FaultyDriver, kind: str) -> None:
    build, listing = KINDS[kind]
    wanted = build(driver)
    for way, fault in WAYS.items():
        driver.fault(methods=WRITES, count=1, **fault)
        made = driver.create(kind, wanted)
        assert driver.faults.as_json()[-1]["hits"] == 1, way
        fresh = driver.refresh(made)
        assert fresh and driver.changed(fresh, wanted) == [], way
        assert how_many(driver, listing) == 1, way
        driver.fault(methods=WRITES, count=1, **fault)
        driver.delete(made)
        driver.faults.clear()
        if kind in ("WorkerVersion", "WorkersDeployment"):
            return  # they can't be taken away for the next way: each has its own test


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["WorkerVersion", "WorkersDeployment"])
def test_a_version_and_a_deployment_are_one_however_their_answer_went(
    driver: FaultyDriver, kind: str, way: str
) -> None:
    build, listing = KINDS[kind]
    wanted = build(driver)
    driver.fault(methods=["POST"], count=1, **WAYS[way])
    made = driver.create(kind, wanted)
    assert how_many(driver, listing) == 1
    fresh = driver.refresh(made)
    assert fresh and driver.changed(fresh, wanted) == []


def test_a_version_like_an_older_one_is_not_taken_for_it(driver: FaultyDriver) -> None:
    """It may differ by its secret, which nobody can read."""
    wanted = version(driver)
    first = driver.create("WorkerVersion", wanted)
    now = driver.api.control.config.now()
    later = now.replace(minute=now.minute + 1)
    object.__setattr__(driver.api.control.config, "now", lambda: later)
    driver.fault(api=["worker-versions"], methods=["POST"], status=500, count=1)
    assert driver.create("WorkerVersion", wanted).rid != first.rid


UPDATES: dict[str, dict[str, Any]] = {
    "Worker": {"tags": ["a"]},
    "WorkersKvNamespace": {"title": "other"},
    "R2Bucket": {"storageClass": "InfrequentAccess"},
    "Queue": {"settings": {"deliveryDelay": 5}},
    "AiGateway": {"cacheTtl": 600},
    "Ruleset": {"description": "other"},
    "WorkersRoute": {"pattern": "api.sluiceway.test/v2/*"},
}


@pytest.mark.parametrize("way", ["lost", "failed"])
@pytest.mark.parametrize("kind", UPDATES)
def test_an_update_whose_answer_is_lost_is_made_all_the_same(driver: FaultyDriver, kind: str, way: str) -> None:
    wanted = KINDS[kind][0](driver)
    made = driver.create(kind, wanted)
    driver.fault(methods=WRITES, count=1, **WAYS[way])
    changed = {**wanted, **UPDATES[kind]}
    fresh = driver.refresh(driver.update(made, changed))
    assert fresh and driver.changed(fresh, changed) == []


REFUSED_TWICE = ["Worker", "WorkersKvNamespace", "R2Bucket", "Queue", "AiGateway", "WorkersRoute", "Ruleset"]


def lose(driver: FaultyDriver, kind: str, wanted: dict[str, Any]) -> SluicewayError:
    """A create that happens, of which no answer comes, nor to any question after it."""
    driver.fault(methods=["POST"], count=1, drop=True, after=True)
    if kind == "Ruleset":
        driver.faults.clear()
        driver.fault(methods=["POST"], drop=True, after=True)
        driver.fault(api=["rulesets"], methods=["GET"], status=404, code=10003, count=1)
    driver.fault(methods=["GET"], status=503)
    with pytest.raises(SluicewayError) as caught:
        driver.create(kind, wanted)
    driver.faults.clear()
    return caught.value


@pytest.mark.parametrize("kind", REFUSED_TWICE)
def test_what_was_made_unknown_to_its_program_is_found_by_the_next_one(driver: FaultyDriver, kind: str) -> None:
    build, listing = KINDS[kind]
    wanted = build(driver)
    fault = lose(driver, kind, wanted)
    assert fault.path == f"{kind} 'it'" and "no answer" in fault.message
    assert fault.hint and "is taken over" in fault.hint
    assert how_many(driver, listing) == 1
    later = driver.another()
    made = later.create(kind, wanted)
    assert how_many(driver, listing) == 1
    fresh = later.refresh(made)
    assert fresh and later.changed(fresh, wanted) == []
    later.delete(made)
    assert how_many(driver, listing) == 0


DELETED = [
    "Worker",
    "WorkersKvNamespace",
    "WorkersRoute",
    "WorkersCustomDomain",
    "R2Bucket",
    "Ruleset",
    "AiGateway",
    "Queue",
]


@pytest.mark.parametrize("kind", DELETED)
def test_a_deletion_of_which_no_answer_ever_comes_is_found_done(driver: FaultyDriver, kind: str) -> None:
    build, listing = KINDS[kind]
    made = driver.create(kind, build(driver))
    driver.fault(methods=["DELETE"], drop=True, after=True)
    driver.delete(made)
    assert (how_many(driver, listing), driver.faults.as_json()[0]["hits"]) == (0, 1)


def test_a_deletion_that_nobody_can_tell_of_says_how_to_find_out(driver: FaultyDriver) -> None:
    made = driver.create("Queue", sample("Queue"))
    driver.fault(methods=["DELETE"], drop=True, after=True)
    driver.fault(methods=["GET"], status=503)
    with pytest.raises(SluicewayError, match=r"Queue 'it': DELETE .* no answer") as caught:
        driver.delete(made)
    assert caught.value.hint and "`sluiceway refresh STAGE`" in caught.value.hint
    driver.faults.clear()
    assert driver.refresh(made) is None


def in_use(driver: FaultyDriver, made: Made) -> None:
    """Puts something into it, as its owner would."""
    if made.kind == "Worker":
        driver.api.version("gateway", code=CODE.decode())
    elif made.kind == "WorkersKvNamespace":
        answer = driver.api("PUT", f"/a/storage/kv/namespaces/{made.rid}/values/key", content=b"x")
        assert answer.is_success, answer.text
    elif made.kind == "R2Bucket":
        headers = {"cf-r2-jurisdiction": "eu"}
        answer = driver.api("PUT", "/a/r2/buckets/models/objects/key", content=b"x", headers=headers)
        assert answer.is_success, answer.text
    else:
        driver.api.worker("user")
        bound = driver.api.version("user", bindings=[{"name": "Q", "type": "queue", "queue_name": "events"}])
        driver.api.deploy("user", (bound["id"], 100))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Worker", "it has versions"),
        ("WorkersKvNamespace", "it holds keys"),
        ("R2Bucket", "it holds objects"),
        ("Queue", "it has producers"),
    ],
)
def test_what_somebody_uses_is_never_taken_over(driver: FaultyDriver, kind: str, why: str) -> None:
    theirs = driver.create(kind, sample(kind))
    in_use(driver, theirs)
    with pytest.raises(SluicewayError) as caught:
        driver.another().create(kind, sample(kind))
    assert caught.value.message.endswith(f"; {why}")
    ident = {"R2Bucket": "models/eu"}.get(kind, theirs.rid)
    assert caught.value.hint and f"by its import id {ACCOUNT_ID}/{ident};" in caught.value.hint
    imported = driver.another().imported(kind, f"{ACCOUNT_ID}/{ident}")
    assert imported and imported.rid == theirs.rid, "the hint leads on"


def test_what_is_there_in_another_form_is_never_taken_over(driver: FaultyDriver) -> None:
    driver.create("AiGateway", sample("AiGateway"))
    with pytest.raises(SluicewayError, match="its cacheTtl is another than asked for"):
        driver.another().create("AiGateway", {**sample("AiGateway"), "cacheTtl": 900})


def test_a_refresh_that_fails_names_the_resource_and_keeps_it(driver: FaultyDriver) -> None:
    made = driver.create("Queue", sample("Queue"))
    driver.fault(methods=["GET"], status=502)
    with pytest.raises(SluicewayError, match=r"Queue 'it': GET /accounts/.*: HTTP 502: Bad Gateway \(tried 4 times\)"):
        driver.refresh(made)
    driver.faults.clear()
    assert driver.refresh(made) is not None
