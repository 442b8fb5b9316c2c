"""Worker versions: uploaded once, never changed."""

from __future__ import annotations

from dataclasses import dataclass

from sluiceway.local import world
from sluiceway.local.api import errors
from sluiceway.local.api.http import Call
from sluiceway.local.api.workers import bindings, deployments, lifecycle, state
from sluiceway.local.api.workers.upload import Upload
from sluiceway.local.store import Doc, Records

# The annotations that an upload may carry, with their limits in bytes.
_ANNOTATIONS = {"workers/message": 1000, "workers/tag": 100, "workers/alias": 63, "workers/triggered_by": 100}


@dataclass(frozen=True)
class Outcome:
    worker: Doc
    version: Doc
    deployment: Doc | None


@dataclass(frozen=True)
class Order:
    """What to do with an upload. ``create``: make the Worker if there is none; ``source``: who sent it."""

    name_or_id: str
    upload: Upload
    create: bool
    deploy: bool
    source: str
    missing: state.NotFound = errors.worker_not_found
    settings: bool = False


async def upload(call: Call, order: Order) -> Outcome:
    """Checks, tries the version in a throwaway runtime, then records (and deploys) it."""
    version_id = call.config.uuid()
    modules = order.upload.keep(call.config.modules)
    draft, texts = _draft(call.state, call, order, version_id, modules)
    worker = state.find(call.state, order.name_or_id)
    name = worker["name"] if worker else order.name_or_id
    tried = await call.control.host.validate(name, world.version_picture(draft, texts, call.config.modules))

    def apply(records: Records) -> Outcome:
        version, secrets = _draft(records, call, order, version_id, modules)
        version["startup_time_ms"] = int(tried.get("startup_time_ms") or 0)
        version["handlers"] = list(tried.get("handlers") or [])
        return _record(records, call, order, version, secrets)

    return await call.control.change(apply)


def copy(records: Records, call: Call, worker: Doc, changed: dict[str, str | None], triggered_by: str) -> Outcome:
    """A new version of the newest code with other secrets (None removes one), deployed at once."""
    newest = records.newest("version", worker["id"], 1)
    if not newest:
        raise errors.ApiError(404, 10222, "The Worker has no versions.")
    old = newest[0]
    texts = world.secrets_of(records, old["id"])
    kept = [binding for binding in old["bindings"] if binding["name"] not in changed]
    added = [{"name": name, "type": "secret_text"} for name, text in changed.items() if text is not None]
    for name, text in changed.items():
        texts.pop(name, None)
        if text is not None:
            texts[name] = text
    version = {
        **old,
        "id": call.config.uuid(),
        "created_on": call.config.stamp(),
        "bindings": kept + added,
        "annotations": {"workers/triggered_by": triggered_by},
    }
    _keep(records, call, worker, version, texts)
    worker["secret_edit"] = version["number"]
    state.save(records, call.config, worker)
    shares = [{"version_id": version["id"], "percentage": 100}]
    deployment = deployments.create(records, call.config, worker, shares, version["annotations"], source="api")
    return Outcome(worker, version, deployment)


def require(records: Records, worker: Doc, version_id: str) -> Doc:
    version = records.get("version", version_id, worker["id"])
    if version is None and version_id == "latest":
        version = next(iter(records.newest("version", worker["id"], 1)), None)
    if version is None:
        raise errors.version_not_found(version_id)
    return version


def _draft(
    records: Records, call: Call, order: Order, version_id: str, modules: list[Doc]
) -> tuple[Doc, dict[str, str]]:
    """The version as it would be recorded, and its secrets; ApiError if a rule forbids it."""
    worker = state.find(records, order.name_or_id)
    if worker is None and not order.create:
        raise order.missing()
    metadata = order.upload.metadata
    bound, texts = bindings.resolve(records, worker, metadata)
    change = lifecycle.after(worker, metadata)
    live = worker is not None and bool(records.newest("deployment", worker["id"], 1))
    if live and not order.deploy and change.differs(worker):
        raise errors.lifecycle_in_upload()
    name = worker["name"] if worker else order.name_or_id
    bindings.check_targets(records, name, change.classes, bound)
    version: Doc = {
        "id": version_id,
        "number": (worker or {}).get("version_count", 0) + 1,
        "created_on": call.config.stamp(),
        "source": order.source,
        "annotations": _annotations(metadata),
        "main_module": order.upload.main_module,
        "modules": modules,
        "etag": order.upload.etag,
        "compatibility_date": order.upload.compatibility_date,
        "compatibility_flags": list(metadata.get("compatibility_flags") or []),
        "bindings": bound,
        "classes": change.classes,
        "migration_tag": change.tag,
        "exports": metadata.get("exports") or None,
        "migrations": metadata.get("migrations") or None,
        "limits": metadata.get("limits") or None,
        "placement": metadata.get("placement") or None,
        "cache_options": metadata.get("cache_options") or None,
        "usage_model": "standard",
    }
    return version, texts


def _record(records: Records, call: Call, order: Order, version: Doc, texts: dict[str, str]) -> Outcome:
    worker = state.find(records, order.name_or_id) or state.create(records, call.config, order.name_or_id)
    if order.settings:
        state.configure(worker, order.upload.metadata, whole=False)
    _keep(records, call, worker, version, texts)
    deployment = None
    if order.deploy:
        annotations = {
            "workers/triggered_by": "upload",
            **{key: text for key, text in version["annotations"].items() if key != "workers/alias"},
        }
        shares = [{"version_id": version["id"], "percentage": 100}]
        deployment = deployments.create(records, call.config, worker, shares, annotations, source=order.source)
    return Outcome(worker, version, deployment)


def _keep(records: Records, call: Call, worker: Doc, version: Doc, texts: dict[str, str]) -> None:
    worker["version_count"] += 1
    version["number"] = worker["version_count"]
    state.save(records, call.config, worker)
    records.put("version", version["id"], version, worker["id"])
    for name, text in texts.items():
        records.put("secret", name, {"name": name, "text": text}, version["id"])


def _annotations(metadata: Doc) -> Doc:
    given = metadata.get("annotations") or {}
    for key, limit in _ANNOTATIONS.items():
        if len(str(given.get(key, "")).encode()) > limit:
            raise errors.validation(f"Annotation {key} exceeds the limit of {limit} bytes.")
    return {key: str(value) for key, value in given.items() if key in _ANNOTATIONS and value is not None}
