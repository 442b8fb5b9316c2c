"""Which versions a bucket can do without: what nothing names, beyond the newest few of each model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sluiceway.domain.model import ModelRef
from sluiceway.pipeline.publish.shelf import Bucket, Shelved, record_key


@dataclass(frozen=True)
class Fate:
    """One version. ``because``: why it stays; None when it goes."""

    entry: Shelved
    because: str | None


def decide(shelf: Sequence[Shelved], keep: int, names: Sequence[tuple[str, Collection[ModelRef]]]) -> tuple[Fate, ...]:
    """The fate of every version. ``names``: who names which versions, like ("models/*.yaml", {intent@1})."""
    newest: dict[str, list[ModelRef]] = {}
    for entry in sorted(shelf, key=lambda entry: entry.ref, reverse=True):
        newest.setdefault(entry.ref.model, []).append(entry.ref)
    fates = []
    for entry in shelf:
        namers = [who for who, refs in names if entry.ref in refs]
        if entry.ref in newest[entry.ref.model][:keep]:
            namers.append(f"one of the newest {keep}" if keep > 1 else "the newest")
        fates.append(Fate(entry, ", ".join(namers) or None))
    return tuple(fates)


def remove(bucket: Bucket, fates: Sequence[Fate], tell: Callable[[int], None] = lambda count: None) -> None:
    """Deletes the objects of the versions that go. ``tell`` gets 1 for each object.

    The record goes first: a version that is no longer whole must not look published.
    """
    from sluiceway.cloudflare import r2

    for fate in fates:
        if fate.because is not None:
            continue
        first = record_key(fate.entry.ref)
        for key in sorted(fate.entry.keys, key=lambda key: key != first):
            r2.delete(bucket.client, bucket.name, key)
            tell(1)
