"""Uploads in parts of one size: R2 refuses others only at the end, after gigabytes.

An upload that was killed stays open and is taken up again with the part size that it began with, whatever
is configured now. One that is refused is aborted; one whose server went away waits for the next run.
No upload to the key is left open once its object is there.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from botocore.exceptions import BotoCoreError, ClientError

from sluiceway.cloudflare.r2_faults import code
from sluiceway.cloudflare.r2_journal import Journal, Sent
from sluiceway.errors import UserError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

MIB: Final = 1 << 20
MOST_PARTS: Final = 10_000
# The local stage's S3 can't list uploads: there, only what a journal knows is taken up again.
_CANNOT: Final = {"NotImplemented", "501"}


@dataclass(frozen=True)
class Target:
    """The object to be: ``sha256`` is that of the whole file and goes into its metadata."""

    bucket: str
    key: str
    sha256: str
    content_type: str


class _Part(TypedDict):
    Bucket: str
    Key: str
    UploadId: str
    PartNumber: int


def _silent(size: int) -> None:
    return


@dataclass(frozen=True)
class How:
    """Parts of ``part_size`` bytes, ``parallel`` of them at a time.

    ``tell`` gets the bytes of each part that is there. With a ``journal``, a killed upload is taken up
    again also where the server can't list its open ones.
    """

    part_size: int
    parallel: int = 1
    journal: Journal | None = None
    tell: Callable[[int], None] = _silent


@dataclass(frozen=True)
class _Open:
    """An upload under way: its part size, and the tags of the parts that are there by number."""

    id: str
    part_size: int
    tags: dict[int, str]
    prefixes: dict[int, str] = field(default_factory=dict)

    def there(self, number: int, prefix: str) -> str | None:
        """The tag of a part that needn't be sent. Where it is known what the file was up to the part's end, then
        ``prefix``, the sha256 of that, must be the same still."""
        return self.tags.get(number) if self.prefixes.get(number, prefix) == prefix else None


def md5(data: bytes) -> str:
    """Content-MD5 of ``data``, by which R2 finds bytes that changed on their way."""
    return b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def fitting(part_size: int, size: int) -> int:
    """``part_size``, or the least whole number of MiB by which ``size`` bytes take no more parts than R2 allows."""
    if size <= part_size * MOST_PARTS:
        return part_size
    return -(-size // (MOST_PARTS * MIB)) * MIB


def send(client: S3Client, target: Target, path: Path, how: How) -> None:
    """Uploads ``path`` in parts, or finishes an open upload of it. UserError when the file changes meanwhile."""
    upload = _take_up(client, target, path.stat().st_size, how.journal)
    if upload is None:
        _finish(client, target, path, _begin(client, target, path, how), how)
        return
    try:
        _finish(client, target, path, upload, how)
    except ClientError as error:
        if how.journal is None or code(error) != "NoSuchUpload":
            raise
        # The journal knew an upload that the server has given up meanwhile.
        _finish(client, target, path, _begin(client, target, path, how), how)


def _finish(client: S3Client, target: Target, path: Path, upload: _Open, how: How) -> None:
    try:
        parts = _send_parts(client, target, path, upload, how)
        client.complete_multipart_upload(
            Bucket=target.bucket, Key=target.key, UploadId=upload.id, MultipartUpload={"Parts": parts}
        )
    except BotoCoreError:
        # Nobody answers: what was sent stays for the next run, or for the bucket's lifecycle rule.
        raise
    except Exception:
        # An interrupt isn't caught here, and leaves the upload open too.
        with suppress(ClientError, BotoCoreError):  # the first failure is the one to tell
            _abort(client, target, upload.id)
        if how.journal:
            how.journal.forget()
        raise
    if how.journal:
        how.journal.forget()
    for left in _open_uploads(client, target):
        _abort(client, target, left)


def _begin(client: S3Client, target: Target, path: Path, how: How) -> _Open:
    made = client.create_multipart_upload(
        Bucket=target.bucket,
        Key=target.key,
        ContentType=target.content_type,
        Metadata={"sha256": target.sha256},
    )
    part_size = fitting(how.part_size, path.stat().st_size)
    if how.journal:
        how.journal.begin(made["UploadId"], part_size)
    return _Open(made["UploadId"], part_size, {})


def _send_parts(client: S3Client, target: Target, path: Path, upload: _Open, how: How) -> list[CompletedPartTypeDef]:
    """The parts in their order, once all are there. At most ``how.parallel`` and one more are in memory."""
    done: dict[int, str] = {}
    running = hashlib.sha256()
    waiting: dict[Future[str], tuple[int, str, int]] = {}

    def collect(least: int) -> None:
        while len(waiting) > least:
            for ready in wait(waiting, return_when=FIRST_COMPLETED).done:
                number, prefix, size = waiting.pop(ready)
                done[number] = ready.result()
                if how.journal:
                    how.journal.add(number, Sent(done[number], prefix))
                how.tell(size)

    with ThreadPoolExecutor(how.parallel) as pool:
        try:
            for number, data in enumerate(_pieces(path, upload.part_size), 1):
                running.update(data)
                prefix = running.hexdigest()
                there = upload.there(number, prefix)
                if there is not None:
                    done[number] = there
                    how.tell(len(data))
                    continue
                collect(how.parallel - 1)
                sending = pool.submit(_send_part, client, target, upload.id, number, data)
                waiting[sending] = (number, prefix, len(data))
            collect(0)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    if running.hexdigest() != target.sha256:
        raise UserError("the file changed while it was uploaded", path=str(path), hint="run the command again")
    return [{"PartNumber": number, "ETag": done[number]} for number in sorted(done)]


def _send_part(client: S3Client, target: Target, upload_id: str, number: int, data: bytes) -> str:
    where: _Part = {"Bucket": target.bucket, "Key": target.key, "UploadId": upload_id, "PartNumber": number}
    if client.meta.endpoint_url.startswith("http:"):  # without TLS the signature holds the body's sha256
        return client.upload_part(**where, Body=data)["ETag"]
    return client.upload_part(**where, Body=data, ContentMD5=md5(data))["ETag"]


def _pieces(path: Path, part_size: int) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while data := stream.read(part_size):
            yield data


def _take_up(client: S3Client, target: Target, size: int, journal: Journal | None) -> _Open | None:
    noted = journal.read() if journal else None
    if noted:
        tags = {number: sent.tag for number, sent in noted.parts.items()}
        prefixes = {number: sent.prefix for number, sent in noted.parts.items()}
        return _Open(noted.id, noted.part_size, tags, prefixes)
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
