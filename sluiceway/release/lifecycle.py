"""Durable Object classes of two worker versions: where they differ, the two can't serve side by side."""

from __future__ import annotations

from sluiceway.release.world import WorkerVersion

Classes = tuple[tuple[str, str], ...]


def change(old: Classes, new: Classes) -> tuple[str, ...]:
    """What ``new`` does to the classes of ``old``, one phrase each; empty when nothing."""
    before, after = dict(old), dict(new)
    found = [f"adds the class {name}" for name in sorted(after.keys() - before.keys())]
    found += [f"takes out the class {name}" for name in sorted(before.keys() - after.keys())]
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            found.append(f"moves the class {name} from {before[name]} to {after[name]}")
    return tuple(found)


def migration(old: WorkerVersion, new: WorkerVersion) -> tuple[str, ...]:
    """What a deployment of ``new`` after ``old`` would migrate; empty when they can serve together."""
    told = old.classes is not None and new.classes is not None
    found = change(old.classes or (), new.classes or ()) if told else ()
    if new.migration_tag and old.migration_tag and new.migration_tag != old.migration_tag:
        found += (f"goes from migration {old.migration_tag} to {new.migration_tag}",)
    return found
