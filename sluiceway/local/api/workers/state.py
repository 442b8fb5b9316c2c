"""Workers in the records: finding, creating, changing and deleting them."""

from __future__ import annotations

import re
from collections.abc import Callable

from sluiceway.local.api import errors
from sluiceway.local.api.config import ApiConfig
from sluiceway.local.store import Doc, Records

# The same for workers.dev host names and the dashboard.
_NAME = re.compile(r"^[a-z0-9][a-z0-9_-]*$")
MAX_NAME = 63
MAX_WORKERS = 500

NotFound = Callable[[], errors.ApiError]


def find(records: Records, name_or_id: str) -> Doc | None:
    by_id = records.get("worker", name_or_id)
    return by_id or next((worker for worker in records.all("worker") if worker["name"] == name_or_id), None)


def require(records: Records, name_or_id: str, missing: NotFound = errors.worker_not_found) -> Doc:
    worker = find(records, name_or_id)
    if worker is None:
        raise missing()
    return worker


def create(records: Records, config: ApiConfig, name: object) -> Doc:
    """A Worker without code. ApiError for a bad name (10016) or one that is taken (10040)."""
    if not isinstance(name, str) or not _NAME.match(name) or len(name) > MAX_NAME:
        raise errors.ApiError(
            400,
            10016,
            f"Invalid Worker name. '{name}' must start with a lowercase letter or digit and may only contain"
            f" lowercase letters, digits, underscores and dashes, at most {MAX_NAME}.",
        )
    if find(records, name):
        raise errors.ApiError(409, 10040, f"A Worker with the name '{name}' already exists.")  # own number
    if len(records.all("worker")) >= MAX_WORKERS:
        raise errors.ApiError(403, 10037, f"You have exceeded the limit of {MAX_WORKERS} Workers on your account.")
    now = config.stamp()
    worker: Doc = {
        "id": config.hex_id(),
        "name": name,
        "created_on": now,
        "updated_on": now,
        "logpush": False,
        "tags": [],
        "tail_consumers": [],
        "observability": observability({}),
        "subdomain": {"enabled": False, "previews_enabled": False},
        "schedules": [],
        "classes": {},
        "migration_tag": None,
        "version_count": 0,
    }
    save(records, config, worker)
    return worker


def save(records: Records, config: ApiConfig, worker: Doc) -> None:
    worker["updated_on"] = config.stamp()
    records.put("worker", worker["id"], worker)


def observability(given: Doc) -> Doc:
    """The setting with everything that the server fills in."""
    enabled = bool(given.get("enabled", False))
    rate = given.get("head_sampling_rate", 1)
    logs = {
        "enabled": enabled,
        "head_sampling_rate": 1,
        "invocation_logs": True,
        "persist": True,
        "destinations": [],
        **(given.get("logs") or {}),
    }
    traces = {
        "enabled": False,
        "head_sampling_rate": 1,
        "persist": True,
        "destinations": [],
        **(given.get("traces") or {}),
    }
    return {"enabled": enabled, "head_sampling_rate": rate, "logs": logs, "traces": traces}


def configure(worker: Doc, given: Doc, whole: bool) -> None:
    """Takes the settings that have no versions from a body; ``whole`` resets what is not named (PUT)."""
    if whole or "logpush" in given:
        worker["logpush"] = bool(given.get("logpush", False))
    for key in ("tags", "tail_consumers"):
        if whole or key in given:
            worker[key] = list(given.get(key) or [])
    if whole or "observability" in given:
        worker["observability"] = observability(given.get("observability") or {})
    if whole or "subdomain" in given:
        worker["subdomain"] = subdomain(given.get("subdomain") or {})


def subdomain(given: Doc) -> Doc:
    """Version URLs follow workers.dev unless said."""
    enabled = bool(given.get("enabled", False))
    previews = given.get("previews_enabled")
    return {"enabled": enabled, "previews_enabled": enabled if previews is None else bool(previews)}


def delete(records: Records, worker: Doc, force: bool) -> None:
    """With its versions, deployments, routes, domains and consumers. ApiError 10064 while others bind to it."""
    users = [] if force else _users(records, worker["name"])
    if users:
        raise errors.ApiError(
            400, 10064, f"Cannot delete this Worker as it is referenced by the bindings of: {', '.join(users)}."
        )
    for version in records.all("version", worker["id"]):
        records.delete_scope("secret", version["id"])
    records.delete_scope("version", worker["id"])
    records.delete_scope("deployment", worker["id"])
    for route in [r for r in records.all("route") if r.get("script") == worker["name"]]:
        records.delete("route", route["id"], route["zone_id"])
    for domain in [d for d in records.all("domain") if d["service"] == worker["name"]]:
        records.delete("domain", domain["id"])
    for consumer in [c for c in records.all("consumer") if c.get("script_name") == worker["name"]]:
        records.delete("consumer", consumer["consumer_id"], consumer["queue_id"])
    records.delete("worker", worker["id"])


def deployed_versions(records: Records, worker: Doc) -> list[Doc]:
    """Versions of the current deployment, in its order."""
    newest = records.newest("deployment", worker["id"], 1)
    ids = [share["version_id"] for share in newest[0]["versions"]] if newest else []
    return [version for key in ids if (version := records.get("version", key, worker["id"]))]


def _users(records: Records, name: str) -> list[str]:
    def binds(version: Doc) -> bool:
        return any(name in (b.get("service"), b.get("script_name")) for b in version["bindings"])

    others = [worker for worker in records.all("worker") if worker["name"] != name]
    return [other["name"] for other in others if any(binds(v) for v in deployed_versions(records, other))]
