"""One Worker in memory, by Cloudflare's rules: what the runner is tested on without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

from sluiceway.cloudflare.worker_api import DeploymentDocument, VersionDocument
from sluiceway.errors import UserError

BEGIN = datetime(2026, 7, 1, 12, tzinfo=UTC)
CLASSES = {"RolloutController": "sqlite"}
SECRET = ("API_KEY", "secret_text", "")


def version_id(number: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"version {number}"))


@dataclass
class Cloud:
    """``before`` is called before each deployment is made, ``later`` after it; either may raise, as a kill does."""

    name: str = "sluiceway-staging"
    clock: datetime = BEGIN
    uploaded: list[VersionDocument] = field(default_factory=list)
    deployed: list[DeploymentDocument] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    later: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.clock

    def pass_by(self, seconds: float) -> None:
        self.clock += timedelta(seconds=seconds)

    def upload(
        self,
        release: str | None = None,
        *,
        bindings: Sequence[tuple[str, str, str]] = (SECRET,),
        exports: dict[str, str] | None = None,
        source: str = "api",
    ) -> str:
        number = len(self.uploaded) + 1
        found = VersionDocument(
            id=version_id(number),
            number=number,
            created_on=f"2026-07-01T11:00:{number:02}.5Z",
            tag=f"r-{number:012}" if release is None else release or None,
            source=source,
            bindings=tuple(bindings),
            exports=CLASSES if exports is None else exports,
            migration_tag=None,
        )
        self.uploaded.append(found)
        return found.id

    def versions(self) -> list[VersionDocument]:
        return self.uploaded[::-1][:100]

    def deployments(self) -> list[DeploymentDocument]:
        return self.deployed[::-1][:100]

    def deploy(self, shares: Sequence[tuple[str, float]], message: str = "", *, force: bool = False) -> None:
        assert 1 <= len(shares) <= 2 and sum(percent for _, percent in shares) == 100, shares
        parts = [next(v for v in self.uploaded if v.id == version) for version, _ in shares]
        if len({str(part.exports) for part in parts}) > 1:
            raise UserError("Cloudflare refused (100405)", hint="")
        self.before()
        made = DeploymentDocument(
            f"deployment-{len(self.deployed) + 1}", self.clock, tuple(shares), message, "api", "ann@example.com"
        )
        self.deployed.append(made)
        self.later()

    @property
    def shares(self) -> list[tuple[str, float]]:
        return list(self.deployed[-1].shares)

    def path(self, version: str) -> list[float]:
        """The shares that a version had, deployment by deployment, 0 where it was no part."""
        return [dict(made.shares).get(version, 0.0) for made in self.deployed]
