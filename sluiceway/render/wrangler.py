"""wrangler.toml of one stage: the same Worker that the Pulumi program declares, for wrangler.

It is for people who reach for wrangler (``tail``, ``versions upload``, ``dev``). Named
environments are not used, since wrangler does not inherit bindings into them: each stage has a
file of its own in which every binding is spelled out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sluiceway.errors import SluicewayError
from sluiceway.planning import Binding, Ref, StagePlan
from sluiceway.render.bundle import CONFIG_MODULE, MAIN_MODULE
from sluiceway.render.files import write_file
from sluiceway.render.templates import Templates

FILE = "wrangler.toml"

Fields = Mapping[str, object]

# Cloudflare's name of a binding type -> the key of wrangler.toml (dotted: nested tables) and how
# its entry looks. A list entry is appended, a mapping entry is the whole value.
_LISTS: Mapping[str, tuple[str, Callable[[str, Fields], dict[str, object]]]] = {
    "kv_namespace": ("kv_namespaces", lambda name, f: {"binding": name, "id": f["namespace_id"]}),
    "r2_bucket": ("r2_buckets", lambda name, f: {"binding": name, **f}),
    "ratelimit": ("ratelimits", lambda name, f: {"name": name, **f}),
    "analytics_engine": ("analytics_engine_datasets", lambda name, f: {"binding": name, **f}),
    "durable_object_namespace": ("durable_objects.bindings", lambda name, f: {"name": name, **f}),
    "queue": ("queues.producers", lambda name, f: {"binding": name, "queue": f["queue_name"]}),
    "service": ("services", lambda name, f: {"binding": name, **f}),
}
_SINGLES: Mapping[str, str] = {"ai": "ai", "version_metadata": "version_metadata"}


def render_wrangler(plan: StagePlan, resolved: Mapping[Ref, str], templates: Templates) -> str:
    """The text of wrangler.toml. ``resolved`` gives the value of every `Ref` that is no secret.

    Raises SluicewayError for a Ref without a value and for a binding type that has no place here.
    """
    return templates.render("wrangler.toml.j2", {"document": wrangler_document(plan, resolved)})


def write_wrangler(plan: StagePlan, resolved: Mapping[Ref, str], templates: Templates, out_dir: Path) -> Path:
    """Writes the text of `render_wrangler` to ``out_dir``/wrangler.toml, whole or not at all."""
    path = out_dir / FILE
    write_file(path, render_wrangler(plan, resolved, templates))
    return path


def wrangler_document(plan: StagePlan, resolved: Mapping[Ref, str]) -> dict[str, object]:
    """wrangler.toml as a mapping, in the order in which it is written."""
    document: dict[str, object] = {
        "name": plan.worker_name,
        "account_id": plan.account_id,
        "main": f"dist/{MAIN_MODULE}",
        "base_dir": "dist",
        "no_bundle": True,
        "find_additional_modules": True,
        "compatibility_date": plan.compatibility_date,
        "compatibility_flags": list(plan.compatibility_flags),
        "workers_dev": plan.workers_dev,
        "preview_urls": plan.previews,
        "routes": _routes(plan),
        "rules": [{"type": "Text", "globs": [f"**/{CONFIG_MODULE}"], "fallthrough": False}],
        "triggers": {"crons": list(plan.crons)},
        "observability": _observability(plan),
        "exports": {export.name: {"type": export.type, "storage": export.storage} for export in plan.exports},
        "secrets": {"required": list(plan.secrets)},
    }
    if plan.limits.cpu_ms is not None:
        document["limits"] = {"cpu_ms": plan.limits.cpu_ms}
    for binding in plan.bindings:
        _add_binding(document, binding, resolved)
    return document


def _routes(plan: StagePlan) -> list[dict[str, object]]:
    zone = {"zone_id": plan.zone.id} if plan.zone else {}
    routes: list[dict[str, object]] = [{"pattern": pattern, **zone} for pattern in plan.routes]
    return routes + [{"pattern": hostname, "custom_domain": True, **zone} for hostname in plan.custom_domains]


def _observability(plan: StagePlan) -> dict[str, object]:
    settings = plan.observability
    return {
        "enabled": settings.enabled,
        "head_sampling_rate": settings.head_sampling_rate,
        "traces": {"enabled": settings.traces},
    }


def _add_binding(document: dict[str, object], binding: Binding, resolved: Mapping[Ref, str]) -> None:
    if binding.type == "secret_text":
        return  # its name is under secrets.required; its value never comes here
    if binding.type in _SINGLES:
        document[_SINGLES[binding.type]] = {"binding": binding.name}
        return
    if binding.type not in _LISTS:
        raise SluicewayError("has no place in wrangler.toml yet", path=binding.name, got=binding.type)
    key, entry = _LISTS[binding.type]
    fields = {name: _resolve(value, resolved, binding.name) for name, value in binding.fields.items()}
    *tables, last = key.split(".")
    table = document
    for name in tables:
        inner = table.setdefault(name, {})
        assert isinstance(inner, dict)
        table = inner
    entries = table.setdefault(last, [])
    assert isinstance(entries, list)
    entries.append(entry(binding.name, {name: value for name, value in fields.items() if value is not None}))


def _resolve(value: object, resolved: Mapping[Ref, str], where: str) -> object:
    if isinstance(value, Ref):
        if value not in resolved:
            raise SluicewayError(f"the {value.resource}'s {value.attribute} is not known", path=where)
        return resolved[value]
    return dict(value) if isinstance(value, Mapping) else value
