"""What an update looks at before it uploads or deploys a worker version, and what a ramp makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.release_guard import ReleaseGuard
from sluiceway.errors import SluicewayError, UserError
from sluiceway.planning import Export, StagePlan
from sluiceway.release.read import read
from sluiceway.release.world import World
from tests.components.conftest import Stages
from tests.components.running import run_stage
from tests.unit.release.cloud import Cloud


def ramped(plan: StagePlan) -> StagePlan:
    return replace(plan, release=replace(plan.release, ramped=True))


def cloud_of(plan: StagePlan) -> Cloud:
    """What this plan declares serves all requests."""
    cloud = Cloud(plan.worker_name)
    bindings = [(binding.name, binding.type, "") for binding in plan.bindings]
    cloud.deploy([(cloud.upload(bindings=bindings, exports=exports_of(plan)), 100)])
    return cloud


def exports_of(plan: StagePlan) -> dict[str, str]:
    return {export.name: export.storage for export in plan.exports}


def guarded(plan: StagePlan, cloud: Cloud, *, forced: bool = False) -> ReleaseGuard:
    return ReleaseGuard(plan, lambda: read(cloud), forced)


@pytest.fixture
def plan(stages: Stages) -> StagePlan:
    return stages.plan("staging")


def test_a_ramped_stage_uploads_a_version_and_leaves_what_serves(stages: Stages, plan: StagePlan) -> None:
    run = run_stage(stages, ramped(plan))
    assert run.one("WorkersDeployment").ignored == ("versions",)
    (record,) = [found for found in run.all("WorkersKv") if found.inputs["keyName"] == "spec/release"]
    assert record.ignored == ("value",)


def test_a_stage_without_a_ramp_deploys_what_it_uploads(stages: Stages, plan: StagePlan) -> None:
    run = run_stage(stages, plan)
    assert run.one("WorkersDeployment").ignored == ()
    assert all(found.ignored == () for found in run.all("WorkersKv"))


def test_tf_04_a_ramped_release_with_a_migration_is_stopped_before_its_upload(plan: StagePlan) -> None:
    cloud = cloud_of(plan)
    more = replace(plan, exports=(*plan.exports, Export("Extra", "durable-object", "sqlite")))
    with pytest.raises(UserError, match="adds the class Extra") as refused:
        guarded(ramped(more), cloud).uploading()
    assert "release.ramp" in (refused.value.path or "") and "whole" in (refused.value.hint or "")


def test_tf_04_a_plain_update_may_carry_a_migration(plan: StagePlan) -> None:
    cloud = cloud_of(plan)
    more = replace(plan, exports=(*plan.exports, Export("Extra", "durable-object", "sqlite")))
    assert guarded(more, cloud).uploading() is None
    assert guarded(more, cloud).deploying() is None


def test_a_ramped_release_with_the_same_classes_is_uploaded(plan: StagePlan) -> None:
    assert guarded(ramped(plan), cloud_of(plan)).uploading() is None


def split(plan: StagePlan) -> Cloud:
    """v1 90 %, v2 10 %, with a variable that somebody added."""
    cloud = cloud_of(plan)
    foreign = [("FEATURE_X", "plain_text", "on")]
    other = cloud.upload(release="", bindings=foreign, exports=exports_of(plan), source="dash")
    cloud.deploy([(cloud.uploaded[0].id, 90), (other, 10)])
    return cloud


def test_wr_07_a_plain_update_over_a_running_split_is_refused_naming_both(plan: StagePlan) -> None:
    with pytest.raises(UserError) as refused:
        guarded(plan, split(plan)).deploying()
    told = str(refused.value)
    assert "(r-000000000001) 90 %" in told and "(from dash) 10 %" in told and "FEATURE_X" in told
    assert "--force" in (refused.value.hint or "")


def test_wr_07_forced_it_is_done_and_what_it_ends_is_told(plan: StagePlan) -> None:
    told = guarded(plan, split(plan), forced=True).deploying()
    assert told is not None
    assert "90 %" in told and "FEATURE_X" in told


def test_wr_07_a_ramp_of_ours_is_not_ended_unasked_either(plan: StagePlan) -> None:
    cloud = cloud_of(plan)
    bindings = [(binding.name, binding.type, "") for binding in plan.bindings]
    new = cloud.upload(bindings=bindings, exports=exports_of(plan))
    cloud.deploy([(cloud.uploaded[0].id, 90), (new, 10)], f"sluiceway ramp {new}: at 10 %")
    with pytest.raises(UserError, match="made by sluiceway release ramp"):
        guarded(plan, cloud).deploying()


def test_where_nothing_is_deployed_there_is_nothing_to_stop(plan: StagePlan) -> None:
    for found in (None, World(plan.worker_name)):
        guard = ReleaseGuard(ramped(plan), lambda found=found: found, False)  # type: ignore[misc]
        assert guard.uploading() is None
        assert guard.deploying() is None


def test_an_update_that_can_not_look_is_stopped(plan: StagePlan) -> None:
    def fail() -> World:
        raise SluicewayError("Cloudflare's API did not answer")

    with pytest.raises(SluicewayError, match="did not answer"):
        ReleaseGuard(plan, fail, False).deploying()
