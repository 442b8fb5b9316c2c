"""Durable Object classes of a Worker: declared by ``exports`` or moved on by ``migrations``."""

from __future__ import annotations

from dataclasses import dataclass

from sluiceway.local.api import errors
from sluiceway.local.store import Doc, Json

Classes = dict[str, Doc]


@dataclass(frozen=True)
class Lifecycle:
    """Classes and migration tag that a Worker has once the version is deployed."""

    classes: Classes
    tag: str | None

    def differs(self, worker: Doc | None) -> bool:
        return (self.classes, self.tag) != (_classes(worker), _tag(worker))


def after(worker: Doc | None, metadata: Doc) -> Lifecycle:
    """What the upload makes of the Worker's classes; ApiError when its precondition doesn't hold."""
    exports, migrations = metadata.get("exports"), metadata.get("migrations")
    if exports and migrations:
        raise errors.validation("exports and migrations can't both be set.")
    if exports:
        return Lifecycle(_declared(_classes(worker), exports), _tag(worker))
    if migrations:
        return _migrated(worker, migrations)
    return Lifecycle(_classes(worker), _tag(worker))


def _classes(worker: Doc | None) -> Classes:
    return dict((worker or {}).get("classes") or {})


def _tag(worker: Doc | None) -> str | None:
    tag = (worker or {}).get("migration_tag")
    return str(tag) if tag else None


def _declared(now: Classes, exports: dict[str, Json]) -> Classes:
    objects = {name: entry for name, entry in exports.items() if entry.get("type") == "durable-object"}
    forgotten = sorted(set(now) - set(objects))
    if forgotten:
        raise errors.ApiError(
            400,
            100402,
            f"Exports reconciliation failed: class '{forgotten[0]}' has Durable Objects but is not in exports."
            " Keep it, or declare its state as deleted, renamed or transferred.",
        )
    live = {name: entry for name, entry in objects.items() if entry.get("state", "created") == "created"}
    return {name: {"storage": entry.get("storage", "sqlite")} for name, entry in live.items()}


def _migrated(worker: Doc | None, migrations: Doc) -> Lifecycle:
    tag = _tag(worker)
    if "old_tag" in migrations and (migrations["old_tag"] or None) != tag:
        raise errors.ApiError(
            412,
            10079,
            f"migration tag precondition failed, got {migrations['old_tag'] or 'none'}, expected {tag or 'none'}",
        )
    classes = _classes(worker)
    for step in migrations.get("steps") or [migrations]:
        _apply_step(classes, step)
    return Lifecycle(classes, migrations.get("new_tag") or tag)


def _apply_step(classes: Classes, step: Doc) -> None:
    fresh = [(name, "legacy-kv") for name in step.get("new_classes") or []]
    fresh += [(name, "sqlite") for name in step.get("new_sqlite_classes") or []]
    for name, storage in fresh:
        if name in classes:
            raise errors.ApiError(
                400,
                10074,
                f"Cannot apply new-class migration to class '{name}' that is already depended on by existing"
                " Durable Objects",
            )
        classes[name] = {"storage": storage}
    for move in step.get("renamed_classes") or []:
        classes[move["to"]] = _taken(classes, move["from"], "renamed-class")
    for name in step.get("deleted_classes") or []:
        _taken(classes, name, "deleted-class")


def _taken(classes: Classes, name: str, kind: str) -> Doc:
    if name not in classes:
        raise errors.ApiError(400, 10070, f"Cannot apply {kind} migration to non-existent class {name}.")
    return classes.pop(name)
