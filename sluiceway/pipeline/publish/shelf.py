"""What lies in a stage's bucket: the keys of files, and one record a version that says which files are that version.

The record is written last and only once, so a version is either there as a whole or not there, and never becomes
another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal, Protocol, Self

from pydantic import Field, ValidationError, model_validator

from sluiceway.catalog.model import FileName, folder_and_file
from sluiceway.domain.model import ModelRef
from sluiceway.errors import SluicewayError
from sluiceway.pipeline.package.manifest import Sha256
from sluiceway.settings.fields import Block, Rows, VersionRef

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

ROOT: Final = "models/"
KeyOf = Callable[[str, int, str, str], str]
"""(model, version, sha256, name) -> the key under which the stage's plan has the file."""

_RECORD: Final = re.compile(r"models/([a-z][a-z0-9-]*)/([1-9][0-9]*)/version\.json")
_FILE: Final = re.compile(r"models/([a-z][a-z0-9-]*)/([1-9][0-9]*)/([0-9a-f]{64})/([^/]+(?:/[^/]+)*)")


class FileLike(Protocol):
    """A file of a version, wherever it is described."""

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def bytes(self) -> int: ...


class RecordFile(Block):
    name: FileName
    sha256: Sha256
    bytes: Annotated[int, Field(ge=1)]


class Record(Block):
    """``package``: the sha256 of its model.json."""

    format: Literal[1] = 1
    version: VersionRef
    package: Sha256
    files: Rows[RecordFile]

    @model_validator(mode="after")
    def _apart(self) -> Self:
        """A record is read from a bucket: two files of one name, or a file that is another's folder, fit nowhere."""
        names = [file.name for file in self.files]
        if len(set(names)) != len(names) or folder_and_file(names):
            raise ValueError("two files have one place")
        return self

    def text(self) -> bytes:
        document = self.model_dump(mode="json")
        return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


@dataclass(frozen=True)
class Bucket:
    """A stage's bucket: ``name`` as the S3 API knows it."""

    stage: str
    name: str
    client: S3Client
    key_of: KeyOf


@dataclass(frozen=True)
class Shelved:
    """One version in the bucket. ``files``: (sha256, name) to bytes; ``published``: when its record was written."""

    ref: ModelRef
    keys: tuple[str, ...]
    files: dict[tuple[str, str], int]
    published: datetime | None

    @property
    def bytes(self) -> int:
        return sum(self.files.values())


def record_key(ref: ModelRef) -> str:
    return f"{ROOT}{ref.model}/{ref.number}/version.json"


def record(bucket: Bucket, ref: ModelRef) -> Record | None:
    """The record of a version, None when it wasn't published. SluicewayError for one that isn't ours."""
    from sluiceway.cloudflare import r2_objects

    key = record_key(ref)
    data = r2_objects.get(bucket.client, bucket.name, key)
    if data is None:
        return None
    try:
        found = Record.model_validate(json.loads(data))
    except (ValueError, ValidationError) as error:
        hint = "a newer Sluiceway may have written it; or put the object away by hand"
        where = f"r2://{bucket.name}/{key}"
        raise SluicewayError(f"is no record of a version: {type(error).__name__}", path=where, hint=hint) from None
    return found


def shelved(bucket: Bucket, model: str | None = None) -> tuple[Shelved, ...]:
    """All versions that have an object in the bucket, by model and number; of one model if it is named."""
    from sluiceway.cloudflare import r2_objects

    prefix = ROOT if model is None else f"{ROOT}{model}/"
    keys: dict[ModelRef, list[str]] = {}
    files: dict[ModelRef, dict[tuple[str, str], int]] = {}
    written: dict[ModelRef, datetime] = {}
    for entry in r2_objects.listed(bucket.client, bucket.name, prefix):
        found = _FILE.fullmatch(entry.key) or _RECORD.fullmatch(entry.key)
        if found is None:
            continue  # not ours: never touched
        ref = ModelRef(found[1], int(found[2]))
        keys.setdefault(ref, []).append(entry.key)
        if found.re is _FILE:
            files.setdefault(ref, {})[found[3], found[4]] = entry.size
        else:
            written[ref] = entry.modified
    return tuple(Shelved(ref, tuple(keys[ref]), files.get(ref, {}), written.get(ref)) for ref in sorted(keys))


def same(one: Iterable[FileLike], other: Iterable[FileLike]) -> bool:
    """Whether both list the same names with the same bytes, in any order."""
    return {(f.name, f.sha256, f.bytes) for f in one} == {(f.name, f.sha256, f.bytes) for f in other}


def state(entry: Shelved | None, files: Iterable[FileLike]) -> Literal["yes", "part", "no"]:
    """How much of a version lies in the bucket; an object's digest is in its key, its length in the list."""
    there = entry.files if entry else {}
    found = [there.get((file.sha256, file.name)) == file.bytes for file in files]
    return "yes" if found and all(found) else "part" if any(found) else "no"
