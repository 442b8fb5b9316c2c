"""What ``pulumi preview --diff`` shows of a change."""

from __future__ import annotations

from typing import Any

from pulumi.provider.experimental.provider import PropertyDiffKind
from pulumi.runtime.proto import provider_pb2

from sluiceway.engine.provider.values import UNKNOWN
from tests.unit.provider.harness import ACCOUNT, Driver
from tests.unit.provider.samples import SAMPLES, bindings, worker_version


def shown(driver: Driver, kind: str, before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    diff = driver.diff(driver.create(kind, before), after)
    assert all(detail.input_diff for detail in diff.detailed_diff.values())
    return {path: detail.kind.name for path, detail in diff.detailed_diff.items()}


def test_kinds_are_the_engines_own_numbers() -> None:
    for kind in PropertyDiffKind:
        assert provider_pb2.PropertyDiff.Kind.Value(kind.name) == kind.value


def test_only_the_leaf_that_changed_is_shown(driver: Driver) -> None:
    before = {**SAMPLES["Worker"], "observability": {"enabled": True, "traces": {"enabled": False}}}
    after = {**SAMPLES["Worker"], "observability": {"enabled": True, "traces": {"enabled": True}}, "tags": ["a"]}
    assert shown(driver, "Worker", before, after) == {"observability.traces.enabled": "UPDATE", "tags": "ADD"}


def test_a_changed_module_is_shown_by_its_digest_not_by_its_code(driver: Driver) -> None:
    module = {**worker_version()["modules"][0], "contentBase64": "eA=="}
    assert shown(driver, "WorkerVersion", worker_version(), worker_version(modules=[module])) == {
        "modules[0].contentSha256": "UPDATE_REPLACE"
    }


def test_bindings_are_shown_one_by_one_while_they_stand_at_their_places(driver: Driver) -> None:
    changed = bindings()
    changed[1]["text"] = "other"
    changed[2]["jurisdiction"] = "eu"
    assert shown(driver, "WorkerVersion", worker_version(), worker_version(bindings=changed)) == {
        "bindings[1].text": "UPDATE_REPLACE",
        "bindings[2].jurisdiction": "ADD_REPLACE",
    }
    assert shown(driver, "WorkerVersion", worker_version(), worker_version(bindings=changed[::-1])) == {
        "bindings": "UPDATE_REPLACE"
    }


def test_rules_matched_by_id_keep_their_places(driver: Driver) -> None:
    one, two, three = (
        {"id": word, "enabled": True, "conditions": {"prefix": word}} for word in ("one", "two", "three")
    )
    wanted = {"accountId": ACCOUNT, "bucketName": "models", "jurisdiction": "eu"}
    driver.create("R2Bucket", SAMPLES["R2Bucket"])
    off = {**two, "enabled": False}
    assert shown(driver, "R2BucketLifecycle", {**wanted, "rules": [one, two]}, {**wanted, "rules": [off, one]}) == {
        "rules[1].enabled": "UPDATE"
    }
    assert shown(driver, "R2BucketLifecycle", {**wanted, "rules": [one]}, {**wanted, "rules": [three, one]}) == {
        "rules": "UPDATE"
    }


def test_what_is_not_known_yet_is_shown_as_a_change(driver: Driver) -> None:
    sample = SAMPLES["WorkersDeployment"]
    after = {**sample, "versions": [{"versionId": UNKNOWN, "percentage": 90}, sample["versions"][1]]}
    assert shown(driver, "WorkersDeployment", sample, after) == {"versions[0].versionId": "UPDATE_REPLACE"}


def test_a_setting_taken_out_is_shown_as_deleted(driver: Driver) -> None:
    with_limits = worker_version(limits={"cpuMs": 50})
    assert shown(driver, "WorkerVersion", with_limits, worker_version()) == {"limits": "DELETE_REPLACE"}


def test_drift_is_shown_from_what_is_there_to_what_is_wanted(driver: Driver) -> None:
    made = driver.create("Queue", SAMPLES["Queue"])
    driver.fake.table("queues")[made.rid]["settings"] = {"delivery_delay": 30}
    fresh = driver.refresh(made)
    assert fresh is not None
    assert fresh.inputs["settings"] == {"deliveryDelay": 30}
    diff = driver.diff(fresh, SAMPLES["Queue"])
    assert list(diff.detailed_diff) == ["settings.deliveryDelay"]
