"""State of the control plane -> the world: all that the data plane has to know, as one JSON document."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
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
    there = _Targets.of(records)
    workers = [_worker(records, worker, modules, there) for worker in records.all("worker")]
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
        # Whatever declared them, the data plane needs the classes that are there in the end.
        "exports": {name: {"type": "durable-object", **entry} for name, entry in version["classes"].items()},
        "migrations": None,
    }


def _with_secret(binding: Doc, secrets: dict[str, str]) -> Doc:
    return {**binding, "text": secrets[binding["name"]]} if binding["name"] in secrets else binding


@dataclass(frozen=True)
class _Targets:
    """What bindings may point at. One whose target was deleted stays in the version but is not run."""

    kv: frozenset[str]
    buckets: frozenset[tuple[str, str]]
    queues: frozenset[str]
    services: frozenset[str]

    @classmethod
    def of(cls, records: Records) -> _Targets:
        return cls(
            frozenset(namespace["id"] for namespace in records.all("kv")),
            frozenset((bucket["name"], bucket["jurisdiction"]) for bucket in records.all("bucket")),
            frozenset(queue["queue_name"] for queue in records.all("queue")),
            frozenset(
                worker["name"] for worker in records.all("worker") if records.newest("deployment", worker["id"], 1)
            ),
        )

    def have(self, binding: Doc) -> bool:
        match binding["type"]:
            case "kv_namespace":
                return binding.get("namespace_id") in self.kv
            case "r2_bucket":
                return (binding.get("bucket_name"), binding.get("jurisdiction") or "default") in self.buckets
            case "queue":
                return binding.get("queue_name") in self.queues
            case "service":
                return binding.get("service") in self.services
            case "durable_object_namespace":
                return not binding.get("script_name") or binding["script_name"] in self.services
        return True


def _worker(records: Records, worker: Doc, modules: Path, there: _Targets) -> Doc:
    deployments = records.newest("deployment", worker["id"], 1)
    shares = deployments[0]["versions"] if deployments else []
    wanted = [share["version_id"] for share in shares]
    if worker["subdomain"]["previews_enabled"]:
        wanted += [version["id"] for version in records.newest("version", worker["id"], REACHABLE_VERSIONS)]
    found = [version for key in dict.fromkeys(wanted) if (version := records.get("version", key, worker["id"]))]
    versions = sorted(found, key=lambda version: int(version["number"]))
    pictures = []
    for version in versions:
        picture = version_picture(version, secrets_of(records, version["id"]), modules)
        pictures.append({**picture, "bindings": [b for b in picture["bindings"] if there.have(b)]})
    return {
        "name": worker["name"],
        "versions": pictures,
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
        {
            "queue": names[item["queue_id"]],
            "script": item["script_name"],
            **item.get("settings", {}),
            **({"dead_letter_queue": item["dead_letter_queue"]} if item.get("dead_letter_queue") else {}),
        }
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
    """Who answers at the stage's own address: the chosen one, else the first that strangers may reach at all."""
    deployed = {worker["name"]: worker["subdomain"]["enabled"] for worker in workers if worker["deployment"]}
    chosen = (records.get("setting", "main_worker") or {}).get("value")
    if chosen in deployed:
        return chosen
    owners = {domain["service"] for domain in records.all("domain")}
    owners |= {route.get("script") for route in records.all("route")}
    public = [name for name, enabled in deployed.items() if enabled or name in owners]
    return next(iter([*public, *deployed]), None)
