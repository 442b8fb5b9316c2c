"""Objects in R2 beside uploads: small ones that are written once, lists, and downloads that go on where they ended."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from sluiceway.cloudflare.multipart import MIB, md5
from sluiceway.cloudflare.r2_faults import code, is_missing, told
from sluiceway.errors import SluicewayError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_THERE: Final = {"PreconditionFailed", "412", "ConditionalRequestConflict", "409"}


@dataclass(frozen=True)
class Listed:
    """An object as a list shows it; ``size`` in bytes."""

    key: str
    size: int
    modified: datetime


def put_new(client: S3Client, bucket: str, key: str, data: bytes, content_type: str) -> bool:
    """Writes the object unless there is one; False when there is, which stays as it is, whoever was first."""
    with told(f"writing {key}", f"r2://{bucket}"):
        try:
            client.put_object(
                Bucket=bucket, Key=key, Body=data, ContentType=content_type, ContentMD5=md5(data), IfNoneMatch="*"
            )
        except ClientError as error:
            if code(error) in _THERE:
                return False
            raise
    return True


def get(client: S3Client, bucket: str, key: str, most: int = 4 * MIB) -> bytes | None:
    """The bytes of a small object; None when there is none. SluicewayError for one larger than ``most`` bytes."""
    with told(f"reading {key}", f"r2://{bucket}"):
        try:
            found = client.get_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if is_missing(error):
                return None
            raise
        with found["Body"] as body:
            if found["ContentLength"] > most:
                raise SluicewayError("is larger than what is read here", path=f"r2://{bucket}/{key}", got=most)
            return body.read()


def listed(client: S3Client, bucket: str, prefix: str) -> Iterator[Listed]:
    """All objects whose key begins with ``prefix``, by key."""
    with told(f"listing {prefix}", f"r2://{bucket}"):
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page.get("Contents", []):
                yield Listed(entry["Key"], entry["Size"], entry["LastModified"])


def download(
    client: S3Client,
    bucket: str,
    key: str,
    path: Path,
    wanted: tuple[str, int],
    tell: Callable[[int], None] = lambda size: None,
) -> None:
    """Fetches the object to ``path``, from where an earlier try left it, and checks it: ``wanted`` are sha256 and size.

    ``tell`` gets the bytes that are there. SluicewayError when there is no such object or it is another; then
    nothing is left at ``path``. What was fetched stays when the connection breaks.
    """
    running, size = _begun(path)
    begun = size > 0
    tell(size)
    if size < wanted[1]:
        with told(f"fetching {key}", f"r2://{bucket}"), path.open("ab") as stream:
            found = client.get_object(Bucket=bucket, Key=key, Range=f"bytes={size}-{wanted[1] - 1}")
            with found["Body"] as body:
                while data := body.read(MIB):
                    stream.write(data)
                    running.update(data)
                    size += len(data)
                    tell(len(data))
    if size < wanted[1]:
        hint = "run the command again: it goes on from there"
        raise SluicewayError(f"fetching {key} broke off after {size} bytes", path=f"r2://{bucket}", hint=hint)
    if running.hexdigest() == wanted[0]:
        return
    path.unlink()
    if begun:  # what lay there was none of it
        download(client, bucket, key, path, wanted, tell)
        return
    hint = "nothing was kept; publish the version again from its package"
    where = f"r2://{bucket}/{key}"
    raise SluicewayError(f"isn't the file of sha256 {wanted[0]}", path=where, got=running.hexdigest(), hint=hint)


def _begun(path: Path) -> tuple[hashlib._Hash, int]:
    running, size = hashlib.sha256(), 0
    if path.is_file():
        with path.open("rb") as stream:
            while data := stream.read(MIB):
                running.update(data)
                size += len(data)
    return running, size
