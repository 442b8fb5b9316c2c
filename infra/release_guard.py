"""Looks at what serves before a worker version is uploaded or deployed, and stops what would break it.

Runs as the engine's hook, in a preview as well, and only when there is something to upload or deploy: an update
without changes never asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pulumi

from infra.faults import faults_told
from sluiceway.cloudflare.worker_api import WorkerApi, sdk
from sluiceway.errors import SluicewayError, UserError
from sluiceway.planning import StagePlan
from sluiceway.release.conflict import FORCE, conflict, refusal
from sluiceway.release.lifecycle import Classes, change
from sluiceway.release.read import read
from sluiceway.release.world import World

Look = Callable[[], World | None]


@dataclass(frozen=True)
class ReleaseGuard:
    """``look`` gives the world, or None for a Worker that isn't there yet."""

    plan: StagePlan
    look: Look
    forced: bool

    def uploading(self) -> str | None:
        """Before a version is uploaded; UserError when it must not be. A sentence to tell, or None."""
        world = self._seen() if self.plan.release.ramped else None
        current = world.current if world else None
        if world is None or current is None:
            return None
        new: Classes = tuple(sorted((export.name, export.storage) for export in self.plan.exports))
        for share in current.shares:
            version = world.version(share.version)
            if version and version.classes is not None and (changes := change(version.classes, new)):
                raise UserError(
                    f"a release with a Durable Object migration can't be split: it {', and '.join(changes)}",
                    path=f"{self._file}: config.sluiceway:release.ramp",
                    got=list(self.plan.release.steps),
                    hint="take the ramp out for this `up`, which then deploys it whole",
                )
        return None

    def deploying(self) -> str | None:
        """Before a deployment that gives a version all requests; UserError when that would end others' work."""
        world = self._seen()
        found = conflict(world, [binding.name for binding in self.plan.bindings], own=True) if world else None
        if found is None:
            return None
        if self.forced:
            return f"this deployment ends {found.words}"
        hint = f"sluiceway up {self.plan.stage} --force (for pulumi itself: {FORCE}=1)"
        raise refusal(found, f"deploying a new version of {self.plan.worker_name}", hint)

    @property
    def _file(self) -> str:
        return f"stacks/Pulumi.{self.plan.stage}.yaml"

    def _seen(self) -> World | None:
        try:
            return self.look()
        except UserError:
            raise
        except SluicewayError as fault:
            if not pulumi.runtime.is_dry_run():
                raise
            pulumi.log.warn(f"whether this would end a running split is not known: {fault}")
            return None


def guard(plan: StagePlan) -> ReleaseGuard:
    return ReleaseGuard(plan, lambda: _look(plan), os.environ.get(FORCE) == "1")


def hook(name: str, check: Callable[[], str | None]) -> pulumi.ResourceHook:
    """``check`` as a hook of the engine, in previews and updates alike."""

    def run(_: pulumi.ResourceHookArgs) -> None:
        with faults_told():
            if said := check():
                pulumi.log.warn(said)

    return pulumi.ResourceHook(name, run, pulumi.ResourceHookOptions(on_dry_run=True))


def _look(plan: StagePlan) -> World | None:
    token = _token(os.environ)
    if token is None:
        pulumi.log.warn("CLOUDFLARE_API_TOKEN is not set: whether a split runs, which this would end, is not known")
        return None
    with sdk(token, os.environ.get("CLOUDFLARE_BASE_URL")) as client:
        api = WorkerApi(client, plan.account_id, plan.worker_name)
        return read(api) if api.exists() else None


def _token(env: Mapping[str, str]) -> str | None:
    return env.get("CLOUDFLARE_API_TOKEN") or pulumi.Config("cloudflare").get("apiToken")
