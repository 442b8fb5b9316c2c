"""What Cloudflare says of one Worker: its versions and deployments, as they are at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

HORIZON: Final = 100
"""Cloudflare deploys only the newest hundred versions of a Worker."""

_RELEASE: Final = "r-"


@dataclass(frozen=True)
class Bound:
    """One binding of a worker version. ``target`` is what it points at: an id, a name, a text; empty for none."""

    name: str
    type: str
    target: str = ""


@dataclass(frozen=True)
class WorkerVersion:
    """``created_on`` is the upload's time as the API spells it.

    ``classes`` are its Durable Objects with their storage; None where it was uploaded without telling them.
    """

    id: str
    number: int
    created_on: str
    tag: str | None = None
    source: str = "api"
    bindings: tuple[Bound, ...] = ()
    classes: tuple[tuple[str, str], ...] | None = ()
    migration_tag: str | None = None

    @property
    def release(self) -> str | None:
        """The release id, or None for a version that this tool did not upload."""
        return self.tag if self.tag and self.tag.startswith(_RELEASE) else None

    @property
    def order(self) -> str:
        """How the stage's controller names what this version declares."""
        return f"{self.created_on}\n{self.id}"

    @property
    def name(self) -> str:
        """For people: the beginning of the id, and the release."""
        return f"{self.id[:8]} ({self.release or f'from {self.source}'})"


@dataclass(frozen=True)
class Share:
    version: str
    percent: float


@dataclass(frozen=True)
class Deployment:
    """``shares`` in Cloudflare's order; ``message`` is what its maker wrote."""

    id: str
    created_on: datetime
    shares: tuple[Share, ...]
    message: str = ""
    source: str = "api"
    author: str = ""

    @property
    def only(self) -> str | None:
        """The version that has it all, when no other is part of the deployment."""
        return self.shares[0].version if len(self.shares) == 1 else None

    @property
    def split(self) -> bool:
        """Whether two versions get traffic."""
        return sum(share.percent > 0 for share in self.shares) > 1

    def percent(self, version: str) -> float | None:
        """The share of ``version``; None when it is no part of the deployment."""
        return next((share.percent for share in self.shares if share.version == version), None)

    def told(self, names: Mapping[str, str]) -> str:
        """``<version> 90 %, <version> 10 %``."""
        return ", ".join(f"{names.get(s.version, s.version[:8])} {s.percent:g} %" for s in self.shares)


@dataclass(frozen=True)
class World:
    """``versions`` and ``deployments`` newest first; the first deployment rules."""

    worker: str
    versions: tuple[WorkerVersion, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def current(self) -> Deployment | None:
        return self.deployments[0] if self.deployments else None

    def version(self, version_id: str) -> WorkerVersion | None:
        return next((version for version in self.versions if version.id == version_id), None)

    @property
    def newest(self) -> WorkerVersion | None:
        """The newest version that this tool uploaded."""
        return next((version for version in self.versions if version.release), None)

    def served(self) -> tuple[str, ...]:
        """Every version that was part of a deployment, the one of the newest deployment first."""
        found: dict[str, None] = {}
        for deployment in self.deployments:
            for share in sorted(deployment.shares, key=lambda share: -share.percent):
                found.setdefault(share.version)
        return tuple(found)

    def reachable(self, version: WorkerVersion, uploads: int = 0) -> bool:
        """Whether it can be deployed after ``uploads`` more uploads. Numbers count uploads, also of deleted ones."""
        newest = max((known.number for known in self.versions), default=0)
        return version.number > newest + uploads - HORIZON


def world(worker: str, versions: tuple[WorkerVersion, ...], deployments: tuple[Deployment, ...]) -> World:
    """A `World` in which each version has its name for people."""
    ordered = tuple(sorted(versions, key=lambda version: -version.number))
    return World(worker, ordered, deployments, {version.id: version.name for version in ordered})
