"""Rollback proof: which earlier worker versions could come back, now and after the change in this checkout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sluiceway.release.lifecycle import Classes, change, migration
from sluiceway.release.world import HORIZON, Bound, WorkerVersion, World


@dataclass(frozen=True)
class Changed:
    """What the checkout would upload: classes, names of secrets, and what each kept resource's binding points at.

    ``targets`` is by (type, target) of KV namespaces, buckets and queues; a target that isn't made yet is left out.
    """

    classes: Classes
    secrets: frozenset[str]
    targets: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Exists:
    """What there is in the account, by binding type."""

    targets: Mapping[str, frozenset[str]]

    def has(self, bound: Bound) -> bool:
        known = self.targets.get(bound.type)
        return known is None or bound.target in known


@dataclass(frozen=True)
class Proof:
    """One earlier version. ``lost``: why it can't come back already; ``breaks``: what this change would break.

    ``notes``: what would be different once it is back.
    """

    version: WorkerVersion
    serves: bool
    lost: tuple[str, ...]
    breaks: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def reachable(self) -> bool:
        return not self.lost

    @property
    def stays(self) -> bool:
        """Whether it can still come back after the change."""
        return not self.lost and not self.breaks


_KEPT: Final = {"kv_namespace": "KV namespace", "r2_bucket": "bucket", "queue": "queue"}


def proofs(world: World, changed: Changed, exists: Exists) -> tuple[Proof, ...]:
    """One for each version that had requests and for those that serve, newest first."""
    found = [version for each in world.served() if (version := world.version(each))]
    serving = [version for version in found if _percent(world, version)]
    return tuple(
        Proof(
            version,
            version in serving,
            _lost(world, version, serving, exists),
            _breaks(world, version, changed, exists),
            _notes(world, version, changed),
        )
        for version in sorted(found, key=lambda version: -version.number)
    )


def forgotten(world: World) -> int:
    """How many versions that once served Cloudflare doesn't list any more."""
    return sum(world.version(each) is None for each in world.served())


def _percent(world: World, version: WorkerVersion) -> float:
    return (world.current.percent(version.id) if world.current else None) or 0


def _lost(world: World, version: WorkerVersion, serving: list[WorkerVersion], exists: Exists) -> tuple[str, ...]:
    lost = []
    if not world.reachable(version):
        lost.append(f"beyond the newest {HORIZON} versions, which are all that Cloudflare deploys")
    for other in serving:
        if changes := migration(version, other):
            lost.append(f"a Durable Object migration lies between: {other.name} {', and '.join(changes)}")
    for bound in version.bindings:
        if bound.type in _KEPT and not exists.has(bound):
            lost.append(f"the {_KEPT[bound.type]} {bound.target} of its binding {bound.name} is gone")
    return tuple(lost)


def _breaks(world: World, version: WorkerVersion, changed: Changed, exists: Exists) -> tuple[str, ...]:
    breaks = []
    if world.reachable(version) and not world.reachable(version, uploads=1):
        breaks.append(f"one more upload puts it beyond the newest {HORIZON} versions")
    if version.classes is not None and (changes := change(version.classes, changed.classes)):
        breaks.append(f"this change {', and '.join(changes)}, and no rollback goes past a migration")
    for bound in version.bindings:
        if bound.type in _KEPT and exists.has(bound) and (bound.type, bound.target) not in changed.targets:
            breaks.append(f"this change no longer has the {_KEPT[bound.type]} {bound.target} of its {bound.name}")
    return tuple(breaks)


def _notes(world: World, version: WorkerVersion, changed: Changed) -> tuple[str, ...]:
    """A version keeps the secrets that it was uploaded with; the API tells their names alone."""
    own = {bound.name for bound in version.bindings if bound.type == "secret_text"}
    notes = []
    if gone := sorted(own - changed.secrets):
        notes.append(f"brings back the secret {', '.join(gone)}, which this change takes out")
    if new := sorted(changed.secrets - own):
        notes.append(f"has no secret {', '.join(new)}, which this change adds")
    edited = [later for later in world.versions if later.number > version.number and _secrets(later)]
    if edited and own:
        notes.append("a secret may have been edited since: its old value would come back, and that needs --force")
    return tuple(notes)


def _secrets(version: WorkerVersion) -> bool:
    """Whether somebody else made it, and so may have changed what it holds."""
    return not version.release and any(bound.type == "secret_text" for bound in version.bindings)
