"""The world as the API tells it at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sluiceway.cloudflare.worker_api import DeploymentDocument, VersionDocument
from sluiceway.release.world import Bound, Deployment, Share, WorkerVersion, World, world


class Api(Protocol):
    """What is asked of Cloudflare (`WorkerApi`)."""

    name: str

    def versions(self) -> list[VersionDocument]: ...
    def deployments(self) -> list[DeploymentDocument]: ...
    def deploy(self, shares: Sequence[tuple[str, float]], message: str, *, force: bool = False) -> None: ...


def read(api: Api) -> World:
    """Deployments are read after versions: each version that a deployment names was there before it."""
    versions = tuple(_version(found) for found in api.versions())
    return world(api.name, versions, tuple(_deployment(found) for found in api.deployments()))


def _version(found: VersionDocument) -> WorkerVersion:
    return WorkerVersion(
        id=found.id,
        number=found.number,
        created_on=found.created_on,
        tag=found.tag,
        source=found.source,
        bindings=tuple(Bound(name, kind, target) for name, kind, target in found.bindings),
        classes=tuple(sorted(found.exports.items())) if found.exports is not None else None,
        migration_tag=found.migration_tag,
    )


def _deployment(found: DeploymentDocument) -> Deployment:
    shares = tuple(Share(version, percent) for version, percent in found.shares)
    return Deployment(found.id, found.created_on, shares, found.message, found.source, found.author)
