"""Objects in R2: put there once, known by their sha256, read back after every upload."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from sluiceway.cloudflare import multipart
from sluiceway.cloudflare.multipart import MIB, How, Target
from sluiceway.cloudflare.r2_client import bucket_at_endpoint, client, endpoint
from sluiceway.cloudflare.r2_faults import is_missing, told
from sluiceway.cloudflare.r2_journal import opened, place
from sluiceway.cloudflare.r2_keys import Credentials, credentials, local_token_id
from sluiceway.errors import SluicewayError, UserError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

__all__ = [
    "Credentials",
    "ObjectHead",
    "Sizes",
    "UploadResult",
    "bucket_at_endpoint",
    "client",
    "credentials",
    "delete",
    "endpoint",
    "head",
    "local_token_id",
    "upload",
]


@dataclass(frozen=True)
class Sizes:
    """In bytes: files up to ``single`` go in one request, larger ones in parts of ``part``, ``parallel`` at a time."""

    single: int = 16 * MIB
    part: int = 8 * MIB
    parallel: int = 1


@dataclass(frozen=True)
class ObjectHead:
    """What R2 says of an object. ``sha256`` is None for one that wasn't put there by ``upload``."""

    etag: str
    size: int
    sha256: str | None


@dataclass(frozen=True)
class UploadResult:
    """``uploaded`` is False when the same bytes were there already."""

    etag: str
    size: int
    sha256: str
    uploaded: bool


def head(client: S3Client, bucket: str, key: str) -> ObjectHead | None:
    """The object's head, or None when there is none. SluicewayError when R2 refuses or can't be reached."""
    with told(f"reading {key}", f"r2://{bucket}"):
        try:
            found = client.head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if is_missing(error):
                return None
            raise
    return ObjectHead(found["ETag"].strip('"'), found["ContentLength"], found["Metadata"].get("sha256"))


def delete(client: S3Client, bucket: str, key: str) -> None:
    """Removes the object; no error when there is none.

    One call an object: S3's call for many always sends a checksum that R2 doesn't take.
    """
    with told(f"deleting {key}", f"r2://{bucket}"):
        try:
            client.delete_object(Bucket=bucket, Key=key)
        except (ClientError, BotoCoreError) as error:
            if isinstance(error, ClientError) and is_missing(error):
                return
            # It may have been deleted, and only the answer be lost.
            if _answers(error) or _is_there(client, bucket, key):
                raise


def _answers(error: ClientError | BotoCoreError) -> bool:
    """Whether R2 itself refused, so that nothing can have been done."""
    return isinstance(error, ClientError) and error.response["ResponseMetadata"]["HTTPStatusCode"] < 500


def _is_there(client: S3Client, bucket: str, key: str) -> bool:
    try:
        return head(client, bucket, key) is not None
    except SluicewayError:
        return True


def upload(
    client: S3Client,
    bucket: str,
    key: str,
    path: Path,
    sha256: str,
    content_type: str,
    *,
    sizes: Sizes | None = None,
    journals: Path | None = None,
    tell: Callable[[int], None] = lambda size: None,
    checked: bool = False,
) -> UploadResult:
    """Puts the file at ``path`` under ``key`` unless it is there already, and reads back size and digest.

    ``tell`` gets the bytes that are there, part by part. ``journals``: the folder where an upload in parts notes
    what it sent, so that it can be taken up after a kill also where the server can't say. ``checked``: the caller has
    just seen that the file is the one of ``sha256``; then it is read once, to be sent, and checked once more by that.
    Safe to run again after any interruption, and by two processes at once. UserError when the file isn't there
    or isn't the one of ``sha256``; SluicewayError when R2 refuses, can't be reached or holds something else.
    """
    size = path.stat().st_size if checked else _checked(path, sha256)
    there = head(client, bucket, key)
    if there and (there.size, there.sha256) == (size, sha256):
        tell(size)
        return UploadResult(there.etag, size, sha256, uploaded=False)
    target = Target(bucket, key, sha256, content_type)
    sizes = sizes or Sizes()
    with told(f"uploading {key}", f"r2://{bucket}"):
        try:
            _send(client, target, path, sizes, journals, tell)
        except (ClientError, BotoCoreError):
            # Another process may have finished the same upload, which ends ours, or the answer to ours is lost: what
            # counts is what lies there.
            there = head(client, bucket, key)
            if not there or (there.size, there.sha256) != (size, sha256):
                raise
    return _read_back(client, target, size)


def _send(
    client: S3Client, target: Target, path: Path, sizes: Sizes, journals: Path | None, tell: Callable[[int], None]
) -> None:
    if path.stat().st_size > sizes.single:
        subject = (client.meta.endpoint_url, target.bucket, target.key, target.sha256)
        noting = opened(place(journals, *subject), *subject) if journals else nullcontext()
        with noting as journal:
            multipart.send(client, target, path, How(sizes.part, sizes.parallel, journal, tell))
        return
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != target.sha256:
        raise UserError("the file changed while it was uploaded", path=str(path), hint="run the command again")
    client.put_object(
        Bucket=target.bucket,
        Key=target.key,
        Body=data,
        ContentType=target.content_type,
        ContentMD5=multipart.md5(data),
        Metadata={"sha256": target.sha256},
    )
    tell(len(data))


def _read_back(client: S3Client, target: Target, size: int) -> UploadResult:
    found = head(client, target.bucket, target.key)
    where = f"r2://{target.bucket}/{target.key}"
    if found is None:
        raise SluicewayError("the object isn't there after its upload", path=where)
    if found.size != size:
        raise SluicewayError(f"the object has another size than its file, which has {size}", path=where, got=found.size)
    if found.sha256 != target.sha256:
        raise SluicewayError(
            f"the object is marked with another sha256 than {target.sha256}", path=where, got=found.sha256
        )
    return UploadResult(found.etag, size, target.sha256, uploaded=True)


def _checked(path: Path, sha256: str) -> int:
    """The file's size, when its digest is the expected one."""
    running = hashlib.sha256()
    size = 0
    try:
        with path.open("rb") as stream:
            while data := stream.read(MIB):
                running.update(data)
                size += len(data)
    except OSError as error:
        hint = "a model's files are made by its recipe; this user must be able to read them"
        raise UserError(f"can't be read: {error.strerror}", path=str(path), hint=hint) from None
    if running.hexdigest() != sha256:
        hint = "put the file back as it was released, or add a version with the new sha256"
        raise UserError(f"isn't the file of sha256 {sha256}", path=str(path), got=running.hexdigest(), hint=hint)
    return size
