"""Publishes a package as a model version: every file first, the record of the version last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from sluiceway.domain.model import ModelRef
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.package.manifest import NAME, SIGNATURE, Manifest
from sluiceway.pipeline.package.verify import sha256_of
from sluiceway.pipeline.publish.shelf import Bucket, Record, RecordFile, record, record_key, same
from sluiceway.pipeline.publish.stated import Stated
from sluiceway.pipeline.signing import bundle

PART: Final = 8 << 20
PARALLEL: Final = 4


@dataclass(frozen=True)
class Published:
    """``sent``: names of the files that were uploaded now; none when all of it was there before."""

    ref: ModelRef
    package: str
    files: tuple[RecordFile, ...]
    sent: tuple[str, ...]
    already: bool


def described(folder: Path, manifest: Manifest) -> tuple[RecordFile, ...]:
    """All files of a verified package, model.json and a signature too. UserError for one that a version can't have."""
    if empty := next((file.name for file in manifest.files if not file.bytes), None):
        hint = "take it out of the model's folder, and build the package again"
        raise UserError("an empty file can't be published", path=str(folder / empty), hint=hint)
    own = [NAME]
    if (folder / SIGNATURE).is_file():
        bundle.require_of(folder, manifest)
        own.append(SIGNATURE)
    found = [_described(folder, file.name, file.sha256, file.bytes) for file in manifest.files]
    found += [_described(folder, name, sha256_of(folder / name), (folder / name).stat().st_size) for name in own]
    return tuple(found)


def _described(folder: Path, name: str, sha256: str, size: int) -> RecordFile:
    try:
        return RecordFile(name=name, sha256=sha256, bytes=size)
    except ValidationError:
        raise UserError(
            "a version's files have names of letters, digits, . _ and -, in up to three folders",
            path=str(folder / name),
            got=name,
            hint="give it such a name where the model is made, and package it again",
        ) from None


def choose(
    model: str,
    files: Sequence[RecordFile],
    stated: Sequence[Stated],
    shelf: Sequence[tuple[ModelRef, Record]],
    asked: int | None,
) -> ModelRef:
    """The version that these files are or become: the one that has them already, else the asked one or the next.

    UserError when the asked one has other files, in models/*.yaml or in the bucket.
    """
    known = [(version.ref, version.files) for version in stated] + [(ref, rec.files) for ref, rec in shelf]
    taken = {ref.number for ref, _ in known}
    if asked is None:
        of_them = [ref for ref, theirs in known if theirs and same(theirs, files)]
        return max(of_them) if of_them else ModelRef(model, max(taken, default=0) + 1)
    ref = ModelRef(model, asked)
    for other, theirs in known:
        if other == ref and not same(theirs, files):
            raise _released(ref, max(taken) + 1)
    return ref


def publish(
    bucket: Bucket,
    ref: ModelRef,
    folder: Path,
    files: Sequence[RecordFile],
    tell: Callable[[int], None] = lambda size: None,
) -> Published:
    """Puts ``files`` of the package in ``folder``, which has just been verified, into the bucket as ``ref``.

    Safe to run again after any interruption: what is there is not sent again, and a file that was under way goes on at
    its last part. UserError when the version is there with other files; SluicewayError when R2 fails.
    """
    package = next(file.sha256 for file in files if file.name == NAME)
    wanted = Record(version=str(ref), package=package, files=tuple(sorted(files, key=lambda file: file.name)))
    before = record(bucket, ref)
    if before is not None and before != wanted:
        raise _released(ref, ref.number + 1)
    sent = tuple(file.name for file in wanted.files if _send(bucket, ref, folder, file, tell))
    if before is None:
        _put_record(bucket, ref, wanted)
    return Published(ref, package, wanted.files, sent, already=before is not None and not sent)


def _send(bucket: Bucket, ref: ModelRef, folder: Path, file: RecordFile, tell: Callable[[int], None]) -> bool:
    from sluiceway.cloudflare import r2

    key = bucket.key_of(ref.model, ref.number, file.sha256, file.name)
    there = r2.head(bucket.client, bucket.name, key)
    if there and (there.size, there.sha256) != (file.bytes, file.sha256):
        hint = "see who wrote it; nothing is overwritten. Delete that object, then publish again"
        raise SluicewayError("other bytes lie under this key", path=f"r2://{bucket.name}/{key}", hint=hint)
    result = r2.upload(
        bucket.client,
        bucket.name,
        key,
        folder / file.name,
        file.sha256,
        "application/json" if file.name.endswith(".json") else "application/octet-stream",
        sizes=r2.Sizes(part=PART, parallel=PARALLEL),
        journals=folder.resolve().parent,
        tell=tell,
        checked=True,
    )
    return result.uploaded


def _put_record(bucket: Bucket, ref: ModelRef, wanted: Record) -> None:
    from sluiceway.cloudflare import r2_objects

    if r2_objects.put_new(bucket.client, bucket.name, record_key(ref), wanted.text(), "application/json"):
        return
    if record(bucket, ref) != wanted:  # somebody published other files as this version meanwhile
        raise _released(ref, ref.number + 1)


def _released(ref: ModelRef, following: int) -> UserError:
    return UserError(
        f"{ref} is published with other files, and a version is never changed",
        path=str(ref),
        hint=f"publish it as {ref.model}@{following}: --version {following}",
    )
