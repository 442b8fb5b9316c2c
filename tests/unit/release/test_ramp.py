"""A ramp from its beginning to its end, and what it refuses."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from sluiceway.errors import UserError
from sluiceway.release.gates import Reading, Window
from sluiceway.release.ramp import Plan
from sluiceway.release.runner import Options, Runner, Told
from sluiceway.release.world import WorkerVersion
from tests.unit.release.cloud import CLASSES, SECRET, Cloud

PLAN = Plan((1, 10, 50, 100), timedelta(minutes=10))
GOOD = Reading("pass", "errors pass")
BAD = Reading("fail", "errors fail: 12 of 58 requests of the new version were bad", "errors")
UNSURE = Reading("inconclusive", "errors can't be told yet")


class Killed(Exception):
    """The runner's process ends here."""


@dataclass
class Gates:
    readings: dict[float, Reading] = field(default_factory=dict)
    cloud: Cloud | None = None
    windows: list[Window] = field(default_factory=list)
    source: str = "a test"
    ends: int = 0

    def end(self) -> None:
        self.ends += 1

    def verdict(self, old: str, new: str, window: Window) -> Reading:
        assert self.cloud is not None
        self.windows.append(window)
        return self.readings.get(dict(self.cloud.shares)[new], GOOD)


@dataclass
class Bench:
    cloud: Cloud
    gates: Gates = field(default_factory=Gates)
    fault: str | None = None
    told: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    smoked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gates.cloud = self.cloud

    def run(self, *, sleep: Callable[[float], None] | None = None, **options: bool) -> Told:
        runner = Runner(
            self.cloud, PLAN, self.gates, self._smoke, self._gone, self.cloud.now, sleep or self.cloud.pass_by,
            lambda told: self.told.append(told.sentence),
        )  # fmt: skip
        return runner.run(Options(**options))  # type: ignore[arg-type]

    def _smoke(self, version: WorkerVersion) -> str | None:
        assert dict(self.cloud.shares)[version.id] == 0, "tried while it had traffic"
        self.smoked.append(version.id)
        return self.fault

    def _gone(self, version: WorkerVersion) -> str | None:
        self.gone.append(version.order)
        return None


@pytest.fixture
def cloud() -> Cloud:
    """A first version serves; a second is uploaded."""
    cloud = Cloud()
    cloud.deploy([(cloud.upload(), 100)])
    cloud.upload()
    return cloud


def newest(cloud: Cloud) -> str:
    return cloud.uploaded[-1].id


def test_a_new_version_goes_from_nothing_to_all_by_its_steps(cloud: Cloud) -> None:
    bench = Bench(cloud)
    ended = bench.run()
    assert cloud.path(newest(cloud)) == [0, 0, 1, 10, 50, 95, 100]
    assert ended.kind == "over" and not ended.failed
    assert bench.smoked == [newest(cloud)]
    assert bench.gone == []
    assert bench.gates.ends == 1


def test_a_step_is_held_for_its_time_at_least(cloud: Cloud) -> None:
    Bench(cloud).run()
    times = [made.created_on for made in cloud.deployed][2:]
    assert all(later - sooner >= PLAN.hold for sooner, later in itertools.pairwise(times))


def test_ro_01_the_last_step_is_judged_beside_the_old_version_before_it_has_all(cloud: Cloud) -> None:
    bench = Bench(cloud, Gates({95: BAD}))
    assert bench.run().failed
    assert cloud.shares == [(cloud.uploaded[0].id, 100)]


def test_a_step_without_a_verdict_is_never_left(cloud: Cloud) -> None:
    bench = Bench(cloud, Gates({10: UNSURE}))
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 2000:
            raise Killed
        cloud.pass_by(seconds)

    with pytest.raises(Killed):
        bench.run(sleep=sleep)
    assert cloud.path(newest(cloud))[-1] == 10


@pytest.mark.parametrize("share", [1, 10, 50])
def test_a_failing_gate_gives_all_back_at_once_and_says_why(cloud: Cloud, share: float) -> None:
    bench = Bench(cloud, Gates({share: BAD}))
    ended = bench.run()
    assert ended.failed and BAD.reason in ended.sentence
    assert cloud.shares == [(cloud.uploaded[0].id, 100)]
    assert max(cloud.path(newest(cloud))) == share
    assert BAD.reason in cloud.deployed[-1].message
    assert bench.gates.ends == 1
    assert bench.gone == [f"{cloud.uploaded[-1].created_on}\n{newest(cloud)}"]


def test_a_version_that_fails_its_smoke_test_gets_no_request(cloud: Cloud) -> None:
    bench = Bench(cloud, fault="/readyz answers 503")
    ended = bench.run()
    assert ended.failed and "503" in ended.sentence
    assert max(cloud.path(newest(cloud))) == 0


def test_ro_02_a_version_that_failed_is_held_until_another_is_uploaded_or_somebody_says_retry(cloud: Cloud) -> None:
    Bench(cloud, Gates({10: BAD})).run()
    made = len(cloud.deployed)
    for _ in range(5):
        again = Bench(cloud).run()
        assert again.failed and "held" in again.sentence and BAD.reason in again.sentence
    assert len(cloud.deployed) == made
    assert not Bench(cloud).run(retry=True).failed
    assert cloud.shares == [(newest(cloud), 100)]


def test_a_fresh_upload_after_a_failure_is_ramped(cloud: Cloud) -> None:
    Bench(cloud, Gates({10: BAD})).run()
    cloud.upload()
    assert not Bench(cloud).run().failed
    assert cloud.shares == [(newest(cloud), 100)]


def test_a_newer_release_takes_the_place_of_one_whose_ramp_runs(cloud: Cloud) -> None:
    first, second = cloud.uploaded[0].id, newest(cloud)
    bench = Bench(cloud)
    while cloud.path(second)[-1] < 10:
        bench.run(once=True)
        cloud.pass_by(601)
    third = cloud.upload()
    bench.run(once=True)
    assert cloud.shares == [(first, 100), (third, 0)]
    assert "r-000000000002" in bench.told[-1]


def test_nothing_is_done_for_a_version_that_has_all(cloud: Cloud) -> None:
    cloud.deploy([(newest(cloud), 100)])
    made = len(cloud.deployed)
    assert not Bench(cloud).run().failed
    assert len(cloud.deployed) == made


def test_tf_04_a_release_with_a_migration_is_refused_before_anything_is_changed(cloud: Cloud) -> None:
    cloud.upload(exports={**CLASSES, "Extra": "sqlite"})
    made = len(cloud.deployed)
    for force in (False, True):
        with pytest.raises(UserError, match="adds the class Extra") as refused:
            Bench(cloud).run(force=force)
        assert "whole" in (refused.value.hint or "")
    assert len(cloud.deployed) == made


def split_by_others(cloud: Cloud) -> str:
    """v1 90 %, v2 10 %, with a variable from the dashboard; then v3 of ours is uploaded."""
    foreign = ("FEATURE_X", "plain_text", "on")
    other = cloud.upload(release="", bindings=[SECRET, foreign], source="dash")
    cloud.deploy([(cloud.uploaded[0].id, 90), (other, 10)])
    return cloud.upload()


def test_wr_07_a_split_made_by_others_is_refused_naming_versions_and_what_would_be_lost(cloud: Cloud) -> None:
    split_by_others(cloud)
    made = len(cloud.deployed)
    with pytest.raises(UserError) as refused:
        Bench(cloud).run()
    told = str(refused.value)
    first, other = cloud.uploaded[0].id[:8], cloud.uploaded[2].id[:8]
    assert f"{first} (r-000000000001) 90 %" in told and f"{other} (from dash) 10 %" in told
    assert "variable FEATURE_X" in told and "ann@example.com" in told
    assert "--force" in (refused.value.hint or "")
    assert len(cloud.deployed) == made


def test_wr_07_with_force_the_release_is_ramped_and_what_it_ended_is_recorded(cloud: Cloud) -> None:
    third = split_by_others(cloud)
    ended = Bench(cloud)
    ended.run(force=True)
    assert cloud.shares == [(third, 100)]
    began = next(made for made in cloud.deployed if dict(made.shares).get(third) == 0)
    for place in (began.message, "\n".join(ended.told)):
        assert "FEATURE_X" in place and "90 %" in place and "10 %" in place


def test_wr_07_a_split_that_others_make_during_a_forced_ramp_is_refused_all_the_same(cloud: Cloud) -> None:
    split_by_others(cloud)
    bench = Bench(cloud)

    def interfere() -> None:
        if len(cloud.deployed) == 5:
            cloud.later = lambda: None
            cloud.deploy([(cloud.uploaded[0].id, 80), (cloud.uploaded[2].id, 20)], "by hand")

    cloud.later = interfere
    with pytest.raises(UserError, match="80 %"):
        bench.run(force=True)
    assert cloud.deployed[-1].message == "by hand"


@pytest.mark.parametrize("seed", range(50))
def test_a_runner_killed_at_any_point_is_followed_by_one_that_ends_where_it_should(seed: int) -> None:
    chance = random.Random(seed)
    cloud = Cloud()
    cloud.deploy([(cloud.upload(), 100)])
    new = cloud.upload()
    fails_at = chance.choice([None, 1, 10, 50, 95])
    bench = Bench(cloud, Gates({fails_at: BAD} if fails_at else {}))

    def maybe() -> None:
        if chance.random() < 0.3:
            raise Killed

    def sleep(seconds: float) -> None:
        if chance.random() < 0.01:
            raise Killed
        cloud.pass_by(seconds)

    cloud.before = cloud.later = maybe
    told = None
    for _ in range(200):
        try:
            told = bench.run(sleep=sleep)
            break
        except Killed:
            continue
    assert told is not None and told.failed == (fails_at is not None)
    path = cloud.path(new)
    rising = path[: path.index(max(path)) + 1]
    assert rising == sorted(rising), "a share was taken back on the way"
    assert cloud.shares == ([(cloud.uploaded[0].id, 100)] if fails_at else [(new, 100)])
    assert (bench.gone != []) == (fails_at is not None)
    assert all(made.message.startswith("sluiceway ") for made in cloud.deployed[1:])
    assert set(path) <= {0, 1, 10, 50, 95, 100}
