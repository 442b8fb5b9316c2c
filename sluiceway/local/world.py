"""State of the control plane -> the world: all that the data plane has to know, as one JSON document."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sluiceway.local.store import Doc, Json, Records

# Versions of a Worker that are reachable by a version URL beside the deployed ones.
REACHABLE_VERSIONS = 10

_MODULE_TYPES = {
    "application/javascript+module": "esm",
    "application/javascript": "cjs",
    "text/javascript": "esm",
    "text/javascript+module": "esm",
    "application/wasm": "wasm",
    "application/json": "json",
    "text/plain": "text",
    "application/octet-stream": "data",
}
MODULE_CONTENT_TYPES = frozenset(_MODULE_TYPES)


def bucket_id(name: str, jurisdiction: str) -> str:
    """The data plane's name of a bucket. An underscore is never valid in a bucket's name, so ids can't clash."""
    return name if jurisdiction == "default" else f"{jurisdiction}_{name}"


def digest(world: Doc) -> str:
    """Fingerprint of a world without its generation."""
    return hashlib.sha256(json.dumps(world, sort_keys=True).encode()).hexdigest()


def build(records: Records, modules: Path, subdomain: str) -> Doc:
    """The world without ``generation``. ``modules`` is the folder of module files by sha256."""
    workers = [_worker(records, worker, modules) for worker in records.all("worker")]
    return {
        "workers": workers,
        "routes": [{"pattern": route["pattern"], "script": route.get("script")} for route in records.all("route")],
        "domains": [{"hostname": domain["hostname"], "service": domain["service"]} for domain in records.all("domain")],
        "account_subdomain": subdomain,
        "kv": [namespace["id"] for namespace in records.all("kv")],
        "r2": [
            {
                "id": bucket_id(bucket["name"], bucket["jurisdiction"]),
                "name": bucket["name"],
                "jurisdiction": bucket["jurisdiction"],
            }
            for bucket in records.all("bucket")
        ],
        "queues": [queue["queue_name"] for queue in records.all("queue")],
        "consumers": _consumers(records),
        "rate_limits": _rate_limits(records),
        "main_worker": _main_worker(records, workers),
    }


def version_picture(version: Doc, secrets: dict[str, str], modules: Path) -> Doc:
    """One worker version as the data plane takes it; ``secrets`` are texts by binding name."""
    return {
        "id": version["id"],
        "number": version["number"],
        "tag": (version.get("annotations") or {}).get("workers/tag", ""),
        "created_on": version["created_on"],
        "main_module": version["main_module"],
        "modules": [
            {
                "name": module["name"],
                "type": _MODULE_TYPES[module["content_type"]],
                "sha256": module["sha256"],
                "path": str(modules / module["sha256"]),
            }
            for module in version["modules"]
            if module["content_type"] in _MODULE_TYPES
        ],
        "compatibility_date": version["compatibility_date"],
        "compatibility_flags": version["compatibility_flags"],
        "bindings": [_with_secret(binding, secrets) for binding in version["bindings"]],
        "exports": version.get("exports"),
        "migrations": version.get("migrations"),
    }


def _with_secret(binding: Doc, secrets: dict[str, str]) -> Doc:
    return {**binding, "text": secrets[binding["name"]]} if binding["name"] in secrets else binding


def _worker(records: Records, worker: Doc, modules: Path) -> Doc:
    deployments = records.newest("deployment", worker["id"], 1)
    shares = deployments[0]["versions"] if deployments else []
    wanted = {share["version_id"] for share in shares}
    newest = records.newest("version", worker["id"], REACHABLE_VERSIONS)
    if worker["subdomain"]["previews_enabled"]:
        wanted |= {version["id"] for version in newest}
    versions = [version for version in records.all("version", worker["id"]) if version["id"] in wanted]
    return {
        "name": worker["name"],
        "versions": [version_picture(version, secrets_of(records, version["id"]), modules) for version in versions],
        "deployment": {"versions": shares} if shares else None,
        "subdomain": dict(worker["subdomain"]),
        "crons": [item["cron"] for item in worker.get("schedules", [])],
    }


def secrets_of(records: Records, version_id: str) -> dict[str, str]:
    """Secret texts of a version by binding name."""
    return {secret["name"]: secret["text"] for secret in records.all("secret", version_id)}


def _consumers(records: Records) -> list[Doc]:
    names = {queue["queue_id"]: queue["queue_name"] for queue in records.all("queue")}
    return [
        {"queue": names[item["queue_id"]], "script": item["script_name"], "settings": item.get("settings", {})}
        for item in records.all("consumer")
        if item["type"] == "worker" and item["queue_id"] in names
    ]


def _rate_limits(records: Records) -> list[Doc]:
    zones = {zone["id"]: zone["name"] for zone in records.all("zone")}
    return [
        {"zone": zones[ruleset["zone_id"]], "rules": ruleset["rules"]}
        for ruleset in records.all("ruleset")
        if ruleset["phase"] == "http_ratelimit" and ruleset["zone_id"] in zones
    ]


def _main_worker(records: Records, workers: list[Doc]) -> Json:
    deployed = [worker["name"] for worker in workers if worker["deployment"]]
    chosen = (records.get("setting", "main_worker") or {}).get("value")
    if chosen in deployed:
        return chosen
    return deployed[0] if deployed else None
