"""Bringing an earlier worker version back, at once and to all requests."""

from __future__ import annotations

from dataclasses import dataclass

from sluiceway.errors import UserError
from sluiceway.release import marks
from sluiceway.release.conflict import conflict, refusal
from sluiceway.release.lifecycle import migration
from sluiceway.release.ramp import target_of
from sluiceway.release.world import Share, WorkerVersion, World


@dataclass(frozen=True)
class Rollback:
    """``back`` serves all requests again in place of ``left``; ``withdrawn``: later versions, which the stage forgets.

    ``shares`` is empty when ``back`` has it all already, and nothing is to be deployed.
    """

    back: WorkerVersion
    left: WorkerVersion
    withdrawn: tuple[WorkerVersion, ...]
    shares: tuple[Share, ...]
    message: str
    sentence: str


def rollback(world: World, asked: str | None, *, actor: str, force: bool) -> Rollback:
    """What to do; UserError when it can't be, or would end what others made and ``force`` is off.

    Without ``asked``: the version that serves beside a ramp, else the one that had all requests before.
    """
    current = world.current
    if current is None:
        raise UserError("nothing serves yet", path=world.worker, hint="`sluiceway up STAGE` deploys a first version")
    back = target_of(world, asked) if asked else _before(world)
    serving = [found for share in current.shares if (found := world.version(share.version))]
    newer = [version for version in serving if version.number > back.number]
    if not newer and current.only != back.id:
        raise UserError(
            "is no earlier version than what serves",
            path=world.worker,
            got=back.name,
            hint="`sluiceway up STAGE` or `sluiceway release ramp STAGE` moves forward",
        )
    _check(world, serving, back)
    ended_by = conflict(world, [bound.name for bound in back.bindings])
    if ended_by and not force:
        raise refusal(ended_by, f"rolling back to {back.name}", "add --force")
    left = max(newer, key=lambda version: version.number, default=back)
    gone = _later(world, back)
    if current.only == back.id:
        return Rollback(back, left, gone, (), "", f"{back.name} serves all requests already.")
    ended = f"; it ended {ended_by.words}" if ended_by else ""
    words = f"to {back.name} by {actor}{ended}"
    return Rollback(
        back, left, gone, (Share(back.id, 100),), marks.message("rollback", left.id, words),
        f"{back.name} serves all requests again in place of {left.name}{ended}.",
    )  # fmt: skip


def _before(world: World) -> WorkerVersion:
    current = world.current
    assert current is not None
    mark = marks.mark_of(current)
    if len(current.shares) > 1:
        moved = mark.version if mark else max(current.shares, key=lambda share: _number(world, share.version)).version
        beside = [share.version for share in current.shares if share.version != moved]
        if beside and (found := world.version(beside[0])):
            return found
    now = _number(world, current.only) if current.only else 0
    for deployment in world.deployments[1:]:
        found = world.version(deployment.only) if deployment.only else None
        if found and found.number < now and not _failed(world, found):
            return found
    raise UserError(
        "no earlier version had all requests",
        path=world.worker,
        hint="name one: `sluiceway release rollback STAGE VERSION`; `sluiceway release show STAGE` lists them",
    )


def _failed(world: World, version: WorkerVersion) -> bool:
    """Whether it was last taken out, by a gate or by somebody: not one to come back to unasked."""
    marked = (marks.mark_of(deployment) for deployment in world.deployments)
    last = next((mark for mark in marked if mark and mark.version == version.id), None)
    return last is not None and last.kind in ("failed", "rollback")


def _check(world: World, serving: list[WorkerVersion], back: WorkerVersion) -> None:
    if not world.reachable(back):
        raise UserError(
            "is too old: Cloudflare deploys only the newest hundred versions",
            path=world.worker,
            got=back.name,
            hint="revert the change in git, and `sluiceway up STAGE`",
        )
    for version in serving:
        if changes := migration(back, version):
            raise UserError(
                f"{back.name} can't come back: {version.name} {', and '.join(changes)}, and no deployment undoes that",
                path="Durable Objects",
                hint="revert the code in git and keep the classes, then `sluiceway up STAGE`",
            )


def _later(world: World, back: WorkerVersion) -> tuple[WorkerVersion, ...]:
    """Versions of ours after ``back`` that were deployed: the stage's controller may have heard of each."""
    served = [found for each in world.served() if (found := world.version(each))]
    later = [version for version in served if version.number > back.number and version.release]
    return tuple(sorted(later, key=lambda version: version.number))


def _number(world: World, version: str | None) -> int:
    found = world.version(version) if version else None
    return found.number if found else 0
