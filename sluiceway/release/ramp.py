"""The next move of a ramp, from what the world looks like. Pure: the same world, the same move.

    one version serves ──► new one at 0 % ──smoke──► first step ──hold, gates──► next step ... ──► all of it
                                │                        │
                                └──── smoke fails ───────┴──── a gate fails ───► old one has it all; the new is held

Where a ramp stands is read from the newest deployment: its shares, its time and its mark. So a runner that was killed
is followed by one that goes on, and two at once make the same moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sluiceway.errors import UserError
from sluiceway.release import marks
from sluiceway.release.conflict import conflict, refusal
from sluiceway.release.gates import Reading, Window
from sluiceway.release.lifecycle import migration
from sluiceway.release.world import Deployment, Share, WorkerVersion, World

CONTROL: Final = 5
"""The old version's share while the last step is judged: with none, there is nothing to compare with."""


@dataclass(frozen=True)
class Plan:
    """``steps``: percent of the new version, rising to 100; ``hold``: the shortest time at each."""

    steps: tuple[int, ...]
    hold: timedelta


@dataclass(frozen=True)
class Deploy:
    """Make this the current deployment. ``sentence`` tells people; ``message`` is written into the deployment."""

    shares: tuple[Share, ...]
    message: str
    sentence: str
    failed: bool = False
    """The new version was taken out."""


@dataclass(frozen=True)
class Smoke:
    """Try ``new`` at 0 % before anybody gets it; then `after_smoke`."""

    old: WorkerVersion
    new: WorkerVersion


@dataclass(frozen=True)
class Judge:
    """Ask the gates, then `after`."""

    old: WorkerVersion
    new: WorkerVersion
    window: Window
    step: int


@dataclass(frozen=True)
class Wait:
    """Nothing to do before ``until``; None: until more requests tell more."""

    until: datetime | None
    sentence: str


@dataclass(frozen=True)
class Over:
    """The ramp has ended. ``failed``: the new version was taken out, by this run or an earlier one."""

    sentence: str
    failed: bool = False


Move = Deploy | Smoke | Judge | Wait | Over


def target_of(world: World, asked: str | None) -> WorkerVersion:
    """The version to move: the one asked for by its id's beginning, else the newest that this tool uploaded."""
    if asked is None:
        if world.newest is None:
            raise UserError("no release was uploaded", path=world.worker, hint="`sluiceway up STAGE` uploads one")
        return world.newest
    found = [version for version in world.versions if version.id.startswith(asked)]
    if len(found) != 1:
        known = ", ".join(version.name for version in world.versions[:5])
        raise UserError(
            "no such worker version" if not found else "that begins more than one worker version's id",
            path=world.worker,
            got=asked,
            hint=f"the newest are {known}",
        )
    return found[0]


def next_move(world: World, new: WorkerVersion, plan: Plan, *, force: bool, retry: bool) -> Move:
    """What to do now. UserError when it must not be done, with the reason; nothing was changed then."""
    current = world.current
    if current is None:
        raise UserError("nothing serves yet", path=world.worker, hint="deploy a first version: `sluiceway up STAGE`")
    if current.only == new.id:
        return Over(f"{new.name} serves all requests.")
    if not retry and (taken := _taken_out(world, new)):
        return Over(f"{new.name} is held until another is uploaded: {taken}.", failed=True)
    percent = current.percent(new.id)
    found = conflict(world, [bound.name for bound in new.bindings])
    if found and not force:
        raise refusal(found, f"a ramp of {new.name}", "add --force")
    old = _stable(world, current, new)
    _check_migration(old, new)
    mark = marks.mark_of(current)
    if percent is None or mark != marks.Mark("ramp", new.id):
        return _begin(world, old, new, f"; it ended {found.words}" if found else "")
    if percent == 0:
        return Smoke(old, new)
    return _at_step(world, current, old, new, plan)


def after_smoke(old: WorkerVersion, new: WorkerVersion, plan: Plan, fault: str | None) -> Deploy:
    """The first step, or the end, by what the smoke test found."""
    if fault is not None:
        return take_out(old, new, f"the smoke test at 0 % failed: {fault}")
    return _step(old, new, plan.steps[0], "the smoke test at 0 % passed")


def after(judged: Judge, plan: Plan, reading: Reading, now: datetime) -> Move:
    """The move that the gates' reading calls for. A failing gate acts at once, also before the hold is over."""
    if reading.verdict == "fail":
        return take_out(judged.old, judged.new, reading.reason)
    until = judged.window.step + plan.hold
    where = f"{judged.new.name} is at {judged.step} %"
    if reading.frozen or reading.verdict == "inconclusive":
        return Wait(None, f"{where}: {reading.reason}.")
    if now < until:
        return Wait(until, f"{where} until {until:%H:%M:%S} UTC: {reading.reason}.")
    following = [step for step in plan.steps if step > judged.step]
    if following:
        return _step(judged.old, judged.new, following[0], reading.reason)
    words = f"all requests, after {', '.join(f'{step} %' for step in plan.steps)}: {reading.reason}"
    return Deploy(
        (Share(judged.new.id, 100),),
        marks.message("done", judged.new.id, words),
        f"{judged.new.name} serves all requests: {reading.reason}.",
    )


def take_out(old: WorkerVersion, new: WorkerVersion, reason: str) -> Deploy:
    """The old version has it all again."""
    sentence = f"{new.name} was taken out, {old.name} serves all requests: {reason}."
    return Deploy((Share(old.id, 100),), marks.message("failed", new.id, reason), sentence, failed=True)


def step_of(percent: float, plan: Plan) -> int:
    """The step that a share belongs to: the last one is judged at less than 100."""
    return 100 if percent >= 100 - CONTROL else int(percent)


def _begin(world: World, old: WorkerVersion, new: WorkerVersion, ended: str) -> Deploy:
    current = world.current
    assert current is not None
    superseded = next((s.version for s in current.shares if s.version not in (old.id, new.id)), None)
    if superseded and not ended:
        ended = f"; the ramp of {world.names.get(superseded, superseded[:8])} ended for it"
    words = f"at 0 % beside {old.name}{ended}"
    shares = (Share(old.id, 100), Share(new.id, 0))
    return Deploy(shares, marks.message("ramp", new.id, words), f"{new.name} is deployed {words}.")


def _step(old: WorkerVersion, new: WorkerVersion, step: int, why: str) -> Deploy:
    share = min(step, 100 - CONTROL)
    shares = (Share(old.id, 100 - share), Share(new.id, share))
    kept = f" ({CONTROL} % stay with {old.name} to compare with)" if share < step else ""
    words = f"at {step} %{kept}: {why}"
    return Deploy(shares, marks.message("ramp", new.id, words), f"{new.name} goes to {step} %{kept}: {why}.")


def _at_step(world: World, current: Deployment, old: WorkerVersion, new: WorkerVersion, plan: Plan) -> Judge:
    percent = current.percent(new.id)
    assert percent is not None
    return Judge(old, new, Window(_ramp_began(world, new), current.created_on), step_of(percent, plan))


def _ramp_began(world: World, new: WorkerVersion) -> datetime:
    """When the newest unbroken run of deployments that ramp ``new`` began."""
    began: datetime | None = None
    for deployment in world.deployments:
        if marks.mark_of(deployment) != marks.Mark("ramp", new.id):
            break
        began = deployment.created_on
    assert began is not None
    return began


def _stable(world: World, current: Deployment, new: WorkerVersion) -> WorkerVersion:
    """What serves beside ``new``: of a split the version with the most, but never the one that a ramp moves."""
    mark = marks.mark_of(current)
    moved = {new.id, mark.version if mark and mark.kind == "ramp" else new.id}
    rest = [share for share in current.shares if share.version not in moved] or [
        share for share in current.shares if share.version != new.id
    ]
    best = max(rest, key=lambda share: share.percent)
    found = world.version(best.version)
    if found is None:
        raise UserError(
            "the version that serves is not among the versions of the Worker",
            path=world.worker,
            got=best.version,
            hint="deploy one that is: `sluiceway release rollback STAGE VERSION`",
        )
    return found


def _check_migration(old: WorkerVersion, new: WorkerVersion) -> None:
    changes = migration(old, new)
    if changes:
        raise UserError(
            f"a release with a Durable Object migration can't be split: {new.name} {', and '.join(changes)}",
            path="Durable Objects",
            hint="deploy it whole: take sluiceway:release out of the stack file for this `up`",
        )


def _taken_out(world: World, new: WorkerVersion) -> str | None:
    """How ``new`` was taken out, unless somebody has tried it again since."""
    for deployment in world.deployments:
        mark = marks.mark_of(deployment)
        if mark and mark.version == new.id:
            words = marks.words_of(deployment)
            return {"failed": words, "rollback": f"it was rolled back {words}"}.get(mark.kind)
    return None
