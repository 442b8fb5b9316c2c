"""Deployments: which worker versions serve, with which share. A deployment is an event; the newest one rules."""

from __future__ import annotations

import math

from sluiceway.local import world
from sluiceway.local.api import errors
from sluiceway.local.api.config import AUTHOR, ApiConfig
from sluiceway.local.api.workers import bindings, state
from sluiceway.local.store import Doc, Json, Records

MAX_VERSIONS = 2
DEPLOYABLE = 100
_STORAGE_TYPES = frozenset({"kv_namespace", "r2_bucket", "queue"})


def create(
    records: Records,
    config: ApiConfig,
    worker: Doc,
    shares: Json,
    annotations: Doc | None = None,
    *,
    source: str,
    force: bool = False,
) -> Doc:
    """Makes ``shares`` (``version_id``, ``percentage``) the current deployment; ApiError if a rule forbids it.

    ``force`` lets a version with other secrets than the last edited ones be deployed.
    """
    wanted = _checked_shares(shares)
    versions = [_deployable(records, worker, share["version_id"]) for share in wanted]
    _check_lifecycle(worker, versions)
    for version in versions:
        stored = [binding for binding in version["bindings"] if binding["type"] in _STORAGE_TYPES]
        bindings.check_targets(records, worker["name"], version["classes"], stored)
    if not force:
        _check_secrets(records, worker, versions)
    deployment: Doc = {
        "id": config.uuid(),
        "source": source,
        "strategy": "percentage",
        "author_email": AUTHOR,
        "created_on": config.stamp(),
        "annotations": {"workers/triggered_by": "deployment", **(annotations or {})},
        "versions": wanted,
    }
    records.put("deployment", deployment["id"], deployment, worker["id"])
    newest = max(versions, key=lambda version: int(version["number"]))
    worker["classes"], worker["migration_tag"] = newest["classes"], newest["migration_tag"]
    state.save(records, config, worker)
    return deployment


def _checked_shares(shares: Json) -> list[Doc]:
    if not isinstance(shares, list) or not shares:
        raise errors.validation("A deployment must name at least one version.")
    wanted: list[Doc] = []
    for share in shares:
        percentage = share.get("percentage") if isinstance(share, dict) else None
        if isinstance(percentage, bool) or not isinstance(percentage, int | float) or not 0 <= percentage <= 100:
            raise errors.validation("The percentage of a version must be a number from 0 to 100.")
        wanted.append({"version_id": str(share.get("version_id")), "percentage": percentage})
    if len({share["version_id"] for share in wanted}) != len(wanted):
        raise errors.validation("A version may appear only once in a deployment.")
    if len(wanted) > MAX_VERSIONS:
        raise errors.validation("A deployment may have at most two versions.")
    total = math.fsum(share["percentage"] for share in wanted)
    if not math.isclose(total, 100, abs_tol=1e-6):
        raise errors.validation(f"The percentages of a deployment must sum to 100, got {total:g}.")
    return wanted


def _deployable(records: Records, worker: Doc, version_id: str) -> Doc:
    version = records.get("version", version_id, worker["id"])
    if version is None:
        raise errors.version_not_found(version_id)
    if version["number"] <= worker["version_count"] - DEPLOYABLE:
        raise errors.validation(f"Version {version_id} is too old: only the latest {DEPLOYABLE} can be deployed.")
    return version


def _check_lifecycle(worker: Doc, versions: list[Doc]) -> None:
    if any(version["classes"] != versions[0]["classes"] for version in versions):
        raise errors.ApiError(
            400,
            100405,
            "All versions of a deployment must declare the same exports. Deploy the version that changes them at"
            " 100% first.",
        )
    first = versions[0]
    changes = (first["classes"], first["migration_tag"]) != (worker["classes"], worker["migration_tag"])
    older = max(v["number"] for v in versions) < worker.get("lifecycle_number", 0)
    if changes and older:
        raise errors.ApiError(
            400,
            10211,
            f"Version {first['id']} can't be deployed: a Durable Object class was changed after it was uploaded.",
        )
    if changes:
        worker["lifecycle_number"] = max(v["number"] for v in versions)


def _check_secrets(records: Records, worker: Doc, versions: list[Doc]) -> None:
    edited = worker.get("secret_edit", 0)
    before = [version for version in versions if version["number"] < edited]
    if not before:
        return
    live = {version["id"] for version in state.deployed_versions(records, worker)}
    edit = next(v for v in records.all("version", worker["id"]) if v["number"] == edited)
    current = world.secrets_of(records, edit["id"])
    for version in before:
        if version["id"] not in live and world.secrets_of(records, version["id"]) != current:
            raise errors.ApiError(
                400,
                10220,
                f"A secret was changed after version {version['id']} was uploaded. Deploying it brings the old secret"
                " back: use force to do so.",
            )
