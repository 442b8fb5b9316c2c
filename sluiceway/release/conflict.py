"""What a deployment would overwrite that somebody else made: a running split, a version with bindings of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sluiceway.errors import UserError
from sluiceway.release.marks import mark_of
from sluiceway.release.world import Deployment, World

FORCE: Final = "SLUICEWAY_RELEASE_FORCE"
"""The variable by which a person says that what others put in place may go."""
_VARIABLES: Final = {"plain_text": "variable", "json": "variable", "secret_text": "secret"}


@dataclass(frozen=True)
class Conflict:
    """What stands in the way: the deployment, and the phrases that say what would be lost with it."""

    deployment: Deployment
    lost: tuple[str, ...]

    @property
    def words(self) -> str:
        return "; ".join(self.lost)


def conflict(world: World, names: Iterable[str], *, own: bool = False) -> Conflict | None:
    """What putting another version in place would end; None when nothing of others is there.

    ``names`` are the bindings that the new version has. A split of ours is a conflict with ``own`` alone: a ramp is
    moved on by the same tool, but a deployment of everything would end it.
    """
    current = world.current
    if current is None:
        return None
    lost = []
    ours = _ours(current)
    if current.split and (own or not ours):
        who = "sluiceway release ramp" if ours else current.author or f"source {current.source}"
        lost.append(f"the running split {current.told(world.names)}, made by {who}")
    have = set(names)
    for share in current.shares:
        version = world.version(share.version)
        if version is None or version.release:
            continue  # what git declared before, git may take out
        gone = sorted((b.type, b.name) for b in version.bindings if b.name not in have)
        for kind, name in gone:
            lost.append(f"the {_VARIABLES.get(kind, f'{kind} binding')} {name} of {version.name}")
        if not current.split:
            lost.append(f"the code of {version.name}, which serves {share.percent:g} %")
    return Conflict(current, tuple(lost)) if lost else None


def refusal(found: Conflict, what: str, force: str) -> UserError:
    """The error that names the versions and what would be lost. ``force`` is how to do it all the same."""
    return UserError(
        f"{what} would end what others put in place: {found.words}",
        path=f"deployment {found.deployment.id}",
        hint=f"take it into git, or end it where it was made; to overwrite it all the same: {force}",
    )


def _ours(deployment: Deployment) -> bool:
    mark = mark_of(deployment)
    return mark is not None and mark.kind == "ramp"
