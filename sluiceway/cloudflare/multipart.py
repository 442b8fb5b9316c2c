"""Uploads in parts of one size: R2 refuses others only at the end, after gigabytes.

An upload that was killed stays open and is taken up again with the part size that it began with, whatever
is configured now. One that fails is aborted. No upload to the key is left open once its object is there.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from sluiceway.cloudflare.r2_faults import code
from sluiceway.errors import UserError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

MIB: Final = 1 << 20
MOST_PARTS: Final = 10_000
# The local stage's S3 can't list uploads: then nothing is taken up again, and nothing else changes.
_CANNOT: Final = {"NotImplemented", "501"}


@dataclass(frozen=True)
class Target:
    """The object to be: ``sha256`` is that of the whole file and goes into its metadata."""

    bucket: str
    key: str
    sha256: str
    content_type: str


@dataclass(frozen=True)
class _Open:
    """An upload under way: its part size, and the tags of the parts that are there by number."""

    id: str
    part_size: int
    tags: dict[int, str]


def md5(data: bytes) -> str:
    """Content-MD5 of ``data``, by which R2 finds bytes that changed on their way."""
    return b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def fitting(part_size: int, size: int) -> int:
    """``part_size``, or the least whole number of MiB by which ``size`` bytes take no more parts than R2 allows."""
    if size <= part_size * MOST_PARTS:
        return part_size
    return -(-size // (MOST_PARTS * MIB)) * MIB


def send(client: S3Client, target: Target, path: Path, part_size: int) -> None:
    """Uploads ``path`` in parts, or finishes an open upload of it. UserError when the file changes meanwhile."""
    size = path.stat().st_size
    upload = _take_up(client, target, size) or _begin(client, target, fitting(part_size, size))
    try:
        parts = _send_parts(client, target, path, upload)
        client.complete_multipart_upload(
            Bucket=target.bucket, Key=target.key, UploadId=upload.id, MultipartUpload={"Parts": parts}
        )
    except Exception:
        # An interrupt isn't caught here: what was sent stays for the next run, or for the bucket's lifecycle rule.
        with suppress(ClientError, BotoCoreError):  # the first failure is the one to tell
            _abort(client, target, upload.id)
        raise
    for left in _open_uploads(client, target):
        _abort(client, target, left)


def _begin(client: S3Client, target: Target, part_size: int) -> _Open:
    made = client.create_multipart_upload(
        Bucket=target.bucket,
        Key=target.key,
        ContentType=target.content_type,
        Metadata={"sha256": target.sha256},
    )
    return _Open(made["UploadId"], part_size, {})


def _send_parts(client: S3Client, target: Target, path: Path, upload: _Open) -> list[CompletedPartTypeDef]:
    parts: list[CompletedPartTypeDef] = []
    running = hashlib.sha256()
    for number, data in enumerate(_pieces(path, upload.part_size), 1):
        running.update(data)
        tag = upload.tags.get(number)
        if tag is None:
            tag = client.upload_part(
                Bucket=target.bucket,
                Key=target.key,
                UploadId=upload.id,
                PartNumber=number,
                Body=data,
                ContentMD5=md5(data),
            )["ETag"]
        parts.append({"PartNumber": number, "ETag": tag})
    if running.hexdigest() != target.sha256:
        raise UserError("the file changed while it was uploaded", path=str(path), hint="run the command again")
    return parts


def _pieces(path: Path, part_size: int) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while data := stream.read(part_size):
            yield data


def _take_up(client: S3Client, target: Target, size: int) -> _Open | None:
    # Only the key can tell what an open upload holds: without the digest in it, it may be another file's.
    if target.sha256 not in target.key:
        return None
    for upload_id in _open_uploads(client, target):
        found = _parts(client, target, upload_id)
        upload = _usable(upload_id, found, size)
        if upload:
            return upload
        _abort(client, target, upload_id)
    return None


def _usable(upload_id: str, parts: dict[int, tuple[int, str]], size: int) -> _Open | None:
    """The upload when its parts can be the first ones of a file of ``size`` bytes in parts of one size."""
    if 1 not in parts:
        return None
    part_size = parts[1][0]
    count = -(-size // part_size)
    for number, (length, _) in parts.items():
        expected = part_size if number < count else size - part_size * (count - 1)
        if number > count or length != expected:
            return None
    return _Open(upload_id, part_size, {number: tag for number, (_, tag) in parts.items()})


def _parts(client: S3Client, target: Target, upload_id: str) -> dict[int, tuple[int, str]]:
    found: dict[int, tuple[int, str]] = {}
    pages = client.get_paginator("list_parts").paginate(Bucket=target.bucket, Key=target.key, UploadId=upload_id)
    for page in pages:
        for part in page.get("Parts", []):
            found[part["PartNumber"]] = (part["Size"], part["ETag"])
    return found


def _open_uploads(client: S3Client, target: Target) -> list[str]:
    """Ids of the open uploads to exactly this key."""
    try:
        pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=target.bucket, Prefix=target.key)
        return [
            upload["UploadId"] for page in pages for upload in page.get("Uploads", []) if upload["Key"] == target.key
        ]
    except ClientError as error:
        if code(error) in _CANNOT:
            return []
        raise


def _abort(client: S3Client, target: Target, upload_id: str) -> None:
    try:
        client.abort_multipart_upload(Bucket=target.bucket, Key=target.key, UploadId=upload_id)
    except ClientError as error:
        if code(error) != "NoSuchUpload":
            raise
