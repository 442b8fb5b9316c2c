"""One state, three ways in which the API answers it: beta Worker, script, worker version."""

from __future__ import annotations

import base64
from pathlib import Path

from sluiceway.local.api.config import AUTHOR, ApiConfig
from sluiceway.local.api.workers import bindings
from sluiceway.local.api.workers.state import deployed_versions
from sluiceway.local.store import Doc, Json, Records


def worker(records: Records, config: ApiConfig, doc: Doc) -> Doc:
    """As ``/workers/workers`` answers."""
    newest = records.newest("deployment", doc["id"], 1)
    host = f"{doc['name']}.{config.subdomain}.workers.dev"
    return {
        "id": doc["id"],
        "name": doc["name"],
        "created_on": doc["created_on"],
        "updated_on": doc["updated_on"],
        "deployed_on": newest[0]["created_on"] if newest else None,
        "logpush": doc["logpush"],
        "observability": doc["observability"],
        "subdomain": {**doc["subdomain"], "url": f"https://{host}", "preview_url_suffix": host},
        "tags": doc["tags"],
        "tail_consumers": doc["tail_consumers"],
        "references": _references(records, doc),
    }


def beta_version(config: ApiConfig, worker_doc: Doc, version: Doc, include_modules: bool = False) -> Doc:
    """As ``/workers/workers/{id}/versions`` answers. Secrets are named, never told."""
    answer: Doc = {
        "id": version["id"],
        "number": version["number"],
        "created_on": version["created_on"],
        "author_email": AUTHOR,
        "source": version["source"],
        "annotations": version["annotations"],
        "bindings": bindings.in_api_order(version["bindings"]),
        "compatibility_date": version["compatibility_date"],
        "compatibility_flags": version["compatibility_flags"],
        "main_module": version["main_module"],
        "migration_tag": version["migration_tag"],
        "startup_time_ms": version["startup_time_ms"],
        "usage_model": version["usage_model"],
        "urls": [version_url(config, worker_doc, version)] if worker_doc["subdomain"]["previews_enabled"] else [],
    }
    answer |= {key: version[key] for key in ("limits", "placement", "cache_options", "exports") if version.get(key)}
    if include_modules:
        answer["modules"] = [_with_content(config.modules, module) for module in version["modules"]]
    return answer


def version_url(config: ApiConfig, worker_doc: Doc, version: Doc) -> str:
    return f"https://{version['id'][:8]}-{worker_doc['name']}.{config.subdomain}.workers.dev"


def listed_version(worker_doc: Doc, version: Doc) -> Doc:
    """As a list of ``/workers/scripts/{name}/versions`` holds it."""
    return {
        "id": version["id"],
        "number": version["number"],
        "annotations": {"workers/triggered_by": "version_upload", **version["annotations"]},
        "metadata": {
            "author_email": AUTHOR,
            "author_id": "",
            "created_on": version["created_on"],
            "modified_on": version["created_on"],
            "source": version["source"],
            "hasPreview": worker_doc["subdomain"]["previews_enabled"],
            "has_preview": worker_doc["subdomain"]["previews_enabled"],
        },
    }


def version(worker_doc: Doc, doc: Doc) -> Doc:
    """As ``/workers/scripts/{name}/versions/{id}`` answers."""
    runtime = {
        "compatibility_date": doc["compatibility_date"],
        "compatibility_flags": doc["compatibility_flags"],
        "usage_model": doc["usage_model"],
        "migration_tag": doc["migration_tag"],
    }
    runtime |= {key: doc[key] for key in ("limits", "exports") if doc.get(key)}
    return {
        **listed_version(worker_doc, doc),
        "startup_time_ms": doc["startup_time_ms"],
        "resources": {
            "bindings": bindings.in_api_order(doc["bindings"]),
            "script": {
                "etag": doc["etag"],
                "handlers": doc["handlers"],
                "named_handlers": [{"name": name, "handlers": ["class"]} for name in sorted(doc["classes"])],
                "last_deployed_from": doc["source"],
            },
            "script_runtime": runtime,
        },
    }


def script(records: Records, doc: Doc) -> Doc:
    """As ``/workers/scripts`` lists it."""
    newest = next(iter(records.newest("version", doc["id"], 1)), None)
    current = next(iter(deployed_versions(records, doc)), newest)
    answer: Doc = {
        "id": doc["name"],
        "tag": doc["id"],
        "tags": doc["tags"],
        "created_on": doc["created_on"],
        "modified_on": doc["updated_on"],
        "logpush": doc["logpush"],
        "observability": doc["observability"],
        "tail_consumers": doc["tail_consumers"],
        "migration_tag": doc["migration_tag"],
        "has_assets": False,
        "has_modules": True,
        "usage_model": "standard",
    }
    if current:
        answer |= {
            "etag": current["etag"],
            "handlers": current["handlers"],
            "last_deployed_from": current["source"],
            "compatibility_date": current["compatibility_date"],
            "compatibility_flags": current["compatibility_flags"],
        }
    return answer


def uploaded(records: Records, worker_doc: Doc, doc: Doc) -> Doc:
    """As ``PUT /workers/scripts/{name}`` answers."""
    return {
        **script(records, worker_doc),
        "deployment_id": doc["id"].replace("-", ""),
        "startup_time_ms": doc["startup_time_ms"],
        "entry_point": doc["main_module"],
        "exports": doc.get("exports") or {},
    }


def script_settings(doc: Doc) -> Doc:
    return {key: doc[key] for key in ("logpush", "observability", "tags", "tail_consumers")}


def _with_content(folder: Path, module: Doc) -> Doc:
    content = (folder / module["sha256"]).read_bytes()
    return {
        "name": module["name"],
        "content_type": module["content_type"],
        "content_base64": base64.b64encode(content).decode(),
    }


def _references(records: Records, doc: Doc) -> Doc:
    def bound(key: str) -> list[Doc]:
        others = [other for other in records.all("worker") if other["id"] != doc["id"]]
        return [
            other
            for other in others
            if any(b.get(key) == doc["name"] for v in deployed_versions(records, other) for b in v["bindings"])
        ]

    domains: list[Json] = [
        {key: d.get(key, "") for key in ("id", "hostname", "zone_id", "zone_name", "certificate_id")}
        for d in records.all("domain")
        if d["service"] == doc["name"]
    ]
    names = {queue["queue_id"]: queue["queue_name"] for queue in records.all("queue")}
    queues = [
        {"queue_id": c["queue_id"], "queue_consumer_id": c["consumer_id"], "queue_name": names.get(c["queue_id"], "")}
        for c in records.all("consumer")
        if c.get("script_name") == doc["name"]
    ]
    return {
        "dispatch_namespace_outbounds": [],
        "domains": domains,
        "durable_objects": [
            {"worker_id": w["id"], "worker_name": w["name"], "namespace_id": "", "namespace_name": ""}
            for w in bound("script_name")
        ],
        "queues": queues,
        "workers": [{"id": other["id"], "name": other["name"]} for other in bound("service")],
    }
