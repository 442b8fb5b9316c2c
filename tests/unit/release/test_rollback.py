"""An earlier worker version comes back; what could come back is told beforehand."""

from __future__ import annotations

import pytest

from sluiceway.errors import UserError
from sluiceway.release.proof import Changed, Exists, Proof, proofs
from sluiceway.release.read import read
from sluiceway.release.rollback import Rollback, rollback
from sluiceway.release.world import WorkerVersion
from tests.unit.release.cloud import CLASSES, SECRET, Cloud

KV = ("CACHE", "kv_namespace", "kv-1")
BUCKET = ("MODELS", "r2_bucket", "models-1")
EXISTS = Exists({"kv_namespace": frozenset({"kv-1"}), "r2_bucket": frozenset({"models-1"})})
SAME = Changed(
    tuple(CLASSES.items()), frozenset({"API_KEY"}), frozenset({("kv_namespace", "kv-1"), ("r2_bucket", "models-1")})
)


@pytest.fixture
def cloud() -> Cloud:
    """Three releases that had all requests, one after the other."""
    cloud = Cloud()
    for _ in range(3):
        cloud.deploy([(cloud.upload(bindings=[SECRET, KV, BUCKET]), 100)])
    return cloud


def back(cloud: Cloud, asked: str | None = None, *, force: bool = False) -> Rollback:
    found = rollback(read(cloud), asked, actor="ann", force=force)
    if found.shares:
        cloud.deploy([(share.version, share.percent) for share in found.shares], found.message)
    return found


def ids(cloud: Cloud, *numbers: int) -> list[str]:
    return [cloud.uploaded[number - 1].id for number in numbers]


def test_the_version_before_comes_back_and_the_later_one_is_withdrawn(cloud: Cloud) -> None:
    found = back(cloud)
    first, second, third = cloud.uploaded
    assert cloud.shares == [(second.id, 100)]
    assert [version.order for version in found.withdrawn] == [f"{third.created_on}\n{third.id}"]
    assert "r-000000000002" in found.sentence and "r-000000000003" in found.sentence
    assert "by ann" in cloud.deployed[-1].message
    assert first.id not in cloud.deployed[-1].message


def test_back_once_more_goes_further_back_and_not_to_what_was_left(cloud: Cloud) -> None:
    back(cloud)
    found = back(cloud)
    assert cloud.shares == [(cloud.uploaded[0].id, 100)]
    assert [version.id for version in found.withdrawn] == ids(cloud, 2, 3)


def test_what_was_left_once_and_was_ramped_to_the_end_since_is_come_back_to(cloud: Cloud) -> None:
    back(cloud)
    third = cloud.uploaded[2].id
    cloud.deploy([(third, 100)], f"sluiceway done {third}: all requests")
    cloud.deploy([(cloud.upload(bindings=[SECRET, KV, BUCKET]), 100)])
    back(cloud)
    assert cloud.shares == [(third, 100)]


def test_a_named_version_comes_back_by_the_beginning_of_its_id(cloud: Cloud) -> None:
    back(cloud, cloud.uploaded[0].id[:8])
    assert cloud.shares == [(cloud.uploaded[0].id, 100)]


def test_a_ramp_is_ended_by_it(cloud: Cloud) -> None:
    new = cloud.upload(bindings=[SECRET, KV, BUCKET])
    cloud.deploy([(cloud.uploaded[2].id, 90), (new, 10)], f"sluiceway ramp {new}: at 10 %")
    found = back(cloud)
    assert cloud.shares == [(cloud.uploaded[2].id, 100)]
    assert [version.id for version in found.withdrawn] == [new]


def test_said_twice_it_deploys_once_and_tells_the_stage_again(cloud: Cloud) -> None:
    first = cloud.uploaded[0].id
    assert [version.id for version in back(cloud, first).withdrawn] == ids(cloud, 2, 3)
    made = len(cloud.deployed)
    again = back(cloud, first)
    assert len(cloud.deployed) == made
    assert [version.id for version in again.withdrawn] == ids(cloud, 2, 3)


def test_forward_is_no_way_back(cloud: Cloud) -> None:
    back(cloud)
    with pytest.raises(UserError, match="no earlier version"):
        back(cloud, cloud.uploaded[2].id)


def test_the_first_version_has_none_before_it() -> None:
    cloud = Cloud()
    cloud.deploy([(cloud.upload(), 100)])
    with pytest.raises(UserError, match="no earlier version had all requests"):
        back(cloud)


def test_wr_07_a_version_from_the_dashboard_goes_only_when_forced(cloud: Cloud) -> None:
    foreign = cloud.upload(release="", bindings=[SECRET, KV, BUCKET, ("FEATURE_X", "plain_text", "on")], source="dash")
    cloud.deploy([(foreign, 100)])
    with pytest.raises(UserError, match="variable FEATURE_X"):
        back(cloud, cloud.uploaded[1].id)
    assert "FEATURE_X" in back(cloud, cloud.uploaded[1].id, force=True).sentence
    assert "FEATURE_X" in cloud.deployed[-1].message


def test_a_migration_between_is_refused_by_its_name(cloud: Cloud) -> None:
    cloud.deploy([(cloud.upload(exports={**CLASSES, "Extra": "sqlite"}), 100)])
    with pytest.raises(UserError, match="adds the class Extra"):
        back(cloud)


def prove(cloud: Cloud, changed: Changed = SAME, exists: Exists = EXISTS) -> dict[int, Proof]:
    return {found.version.number: found for found in proofs(read(cloud), changed, exists)}


def test_proof_every_earlier_version_can_come_back_when_nothing_is_in_its_way(cloud: Cloud) -> None:
    cloud.upload()
    found = prove(cloud)
    assert sorted(found) == [1, 2, 3], "a version that never served is none to come back to"
    assert all(each.stays for each in found.values())
    assert found[3].serves and not found[2].serves


def test_proof_a_bucket_or_namespace_that_is_gone_is_named(cloud: Cloud) -> None:
    found = prove(cloud, exists=Exists({"kv_namespace": frozenset({"kv-1"}), "r2_bucket": frozenset()}))
    assert not found[1].reachable
    assert any("bucket models-1" in reason for reason in found[1].lost)


def test_proof_a_change_that_drops_a_namespace_a_secret_or_a_class_says_what_it_breaks(cloud: Cloud) -> None:
    changed = Changed(
        (*CLASSES.items(), ("Extra", "sqlite")), frozenset({"OTHER"}), frozenset({("r2_bucket", "models-1")})
    )
    found = prove(cloud, changed)[2]
    assert found.reachable and not found.stays
    assert any("KV namespace kv-1" in reason for reason in found.breaks)
    assert any("adds the class Extra" in reason for reason in found.breaks)
    assert any("API_KEY" in note for note in found.notes)
    assert any("OTHER" in note for note in found.notes)


def test_proof_the_hundred_version_horizon_is_counted_with_this_change(cloud: Cloud) -> None:
    for _ in range(97):
        cloud.upload()
    cloud.deploy([(cloud.uploaded[-1].id, 100)])
    found = prove(cloud)
    assert found[1].reachable and any("100" in reason for reason in found[1].breaks)
    assert found[2].stays
    cloud.upload()
    assert 1 not in prove(cloud) or not prove(cloud)[1].reachable


def test_a_version_beyond_the_horizon_is_refused(cloud: Cloud) -> None:
    for _ in range(99):
        cloud.upload()
    cloud.versions = lambda: cloud.uploaded[::-1]  # type: ignore[method-assign]
    with pytest.raises(UserError, match="newest hundred"):
        back(cloud, cloud.uploaded[0].id)


def test_the_order_is_spelled_as_the_worker_reads_it_of_itself() -> None:
    assert WorkerVersion("abc", 1, "2026-07-01T12:00:00.5Z").order == "2026-07-01T12:00:00.5Z\nabc"
