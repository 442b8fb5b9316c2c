from __future__ import annotations

import random
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from sluiceway.cloudflare import multipart, r2
from sluiceway.cloudflare.r2_faults import told
from sluiceway.errors import SluicewayError, UserError
from tests.unit.cloudflare.fake_s3 import BUCKET, FakeS3, OpenUpload

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

KIB = 1024
SIZES = r2.Sizes(single=16 * KIB, part=8 * KIB)


def write(path: Path, size: int, seed: int = 1) -> str:
    data = random.Random(seed).randbytes(size)
    path.write_bytes(data)
    return sha256(data).hexdigest()


def put(client: S3Client, path: Path, digest: str, sizes: r2.Sizes = SIZES) -> r2.UploadResult:
    return r2.upload(client, BUCKET, f"models/{digest}/m.onnx", path, digest, "application/octet-stream", sizes=sizes)


@pytest.mark.parametrize("size", [0, 5, 16 * KIB, 16 * KIB + 1, 24 * KIB, 100_003])
def test_a_file_of_any_size_arrives_byte_for_byte(client: S3Client, s3: FakeS3, file: Path, size: int) -> None:
    digest = write(file, size)
    result = put(client, file, digest)
    stored = s3.objects[f"models/{digest}/m.onnx"]
    assert (stored.data, stored.metadata, stored.content_type) == (
        file.read_bytes(),
        {"sha256": digest},
        "application/octet-stream",
    )
    assert (result.size, result.sha256, result.uploaded) == (size, digest, True)
    assert s3.uploads == {}


def test_the_same_bytes_are_sent_once(client: S3Client, s3: FakeS3, file: Path) -> None:
    digest = write(file, 20_000)
    put(client, file, digest)
    s3.requests.clear()
    assert put(client, file, digest).uploaded is False
    assert [method for method, _, _ in s3.requests] == ["HEAD"]


def test_a_file_that_is_another_one_is_refused_before_any_call(client: S3Client, s3: FakeS3, file: Path) -> None:
    write(file, 100)
    with pytest.raises(UserError, match="isn't the file of sha256"):
        put(client, file, "0" * 64)
    with pytest.raises(UserError, match=r"absent\.onnx: can't be read: No such file or directory"):
        put(client, file.with_name("absent.onnx"), "0" * 64)
    assert s3.requests == []


def test_an_object_with_another_size_than_its_file_is_told(client: S3Client, s3: FakeS3, file: Path) -> None:
    s3.lie_about_size = True
    with pytest.raises(SluicewayError, match="another size than its file, which has 5, got 4"):
        put(client, file, write(file, 5))


def test_an_object_marked_with_another_digest_is_told(client: S3Client, s3: FakeS3, file: Path) -> None:
    s3.forget_metadata = True
    digest = write(file, 5)
    with pytest.raises(SluicewayError, match=f"marked with another sha256 than {digest}, got None"):
        put(client, file, digest)


def test_other_bytes_under_the_key_are_replaced(client: S3Client, s3: FakeS3, file: Path) -> None:
    for seed in (1, 2):
        digest = write(file, 100, seed)
        assert r2.upload(client, BUCKET, "latest", file, digest, "text/plain").uploaded is True
    assert s3.objects["latest"].data == file.read_bytes()


def test_a_file_that_changes_while_it_is_sent_is_never_completed(client: S3Client, s3: FakeS3, file: Path) -> None:
    digest = write(file, 40 * KIB)

    def change(number: int) -> None:
        if number == 1:
            with file.open("r+b") as stream:
                stream.seek(39 * KIB)
                stream.write(b"changed")

    s3.on_part = change
    with pytest.raises(UserError, match="the file changed while it was uploaded"):
        put(client, file, digest)
    assert (s3.objects, s3.uploads) == ({}, {})


def test_a_missing_bucket_hints_at_the_jurisdiction(client: S3Client, file: Path) -> None:
    digest = write(file, 5)
    with pytest.raises(SluicewayError) as caught:
        r2.upload(client, "elsewhere", "k", file, digest, "text/plain")
    assert "NoSuchBucket" in str(caught.value)
    assert "jurisdiction" in (caught.value.hint or "") and "sluiceway up STAGE" in (caught.value.hint or "")
    assert "secret-of-the-key" not in caught.value.render()


def test_a_bucket_that_is_not_made_yet_is_told_as_that_where_there_is_only_a_status() -> None:
    answer = {"Error": {"Code": "404", "Message": "Not Found"}, "ResponseMetadata": {"HTTPStatusCode": 404}}
    with pytest.raises(SluicewayError) as caught, told("listing models/", "r2://there"):
        raise ClientError(answer, "ListObjectsV2")  # type: ignore[arg-type]
    assert caught.value.message == "listing models/ failed: R2 answered 404 Not Found"
    assert "bring the stage up first" in (caught.value.hint or "")


def test_an_endpoint_that_nobody_serves_is_one_clear_error() -> None:
    client = r2.client("http://127.0.0.1:1", "key-id", "secret-of-the-key", attempts=1)
    with pytest.raises(SluicewayError, match=r"^r2://models: reading k failed: Could not connect"):
        r2.head(client, BUCKET, "k")


def test_head_and_delete_of_what_is_not_there_are_no_errors(client: S3Client) -> None:
    assert r2.head(client, BUCKET, "absent") is None
    r2.delete(client, BUCKET, "absent")


UPLOADER = """
import sys
from pathlib import Path
from sluiceway.cloudflare import r2
url, path, digest = sys.argv[1:]
client = r2.client(url, "key-id", "secret-of-the-key")
sizes = r2.Sizes(single=1024, part=5 * 1024)
r2.upload(client, "models", f"models/{digest}/m.onnx", Path(path), digest, "text/plain", sizes=sizes)
"""


def test_r2_02_parts_have_one_size_and_a_killed_upload_keeps_its_own(client: S3Client, s3: FakeS3, file: Path) -> None:
    digest = write(file, 23 * KIB)
    uploader = subprocess.Popen([sys.executable, "-c", UPLOADER, s3.url, str(file), digest])

    def kill(number: int) -> None:
        if number == 3 and uploader.poll() is None:
            uploader.kill()
            uploader.wait()
            s3.fail_part = 3  # the connection is gone: this part never arrives

    s3.on_part = kill
    assert uploader.wait(timeout=60) == -signal.SIGKILL
    s3.settled.wait(10)
    assert [sorted(upload.parts) for upload in s3.uploads.values()] == [[1, 2]]

    s3.fail_part = None
    s3.requests.clear()
    put(client, file, digest, r2.Sizes(single=KIB, part=8 * KIB))
    assert s3.objects[f"models/{digest}/m.onnx"].data == file.read_bytes()
    assert [path.partition("partNumber=")[2][0] for path in s3.of("PUT")] == ["3", "4", "5"]
    assert s3.uploads == {}


def test_r2_02_a_failed_upload_is_aborted_and_the_next_one_begins_anew(
    client: S3Client, s3: FakeS3, file: Path
) -> None:
    digest = write(file, 40 * KIB)
    s3.fail_part = 3
    with pytest.raises(SluicewayError, match=r"uploading models/.* failed: R2 answered 400 InvalidRequest"):
        put(client, file, digest)
    assert (s3.uploads, s3.objects) == ({}, {})
    s3.fail_part = None
    put(client, file, digest)
    assert s3.objects[f"models/{digest}/m.onnx"].data == file.read_bytes()


@pytest.mark.parametrize(
    "parts",
    [{}, {2: 8}, {1: 8, 2: 7}, {1: 8, 2: 8, 3: 8}, {1: 8, 2: 8, 3: 7, 4: 8}],
    ids=["no part", "the first missing", "unequal", "the last too long", "too many"],
)
def test_r2_02_an_open_upload_that_can_not_be_this_file_is_aborted(
    client: S3Client, s3: FakeS3, file: Path, parts: dict[int, int]
) -> None:
    digest = write(file, 23 * KIB)
    found = {number: b"x" * size * KIB for number, size in parts.items()}
    s3.uploads["stale"] = OpenUpload(f"models/{digest}/m.onnx", {"sha256": digest}, "text/plain", found)
    put(client, file, digest)
    assert s3.objects[f"models/{digest}/m.onnx"].data == file.read_bytes()
    assert s3.uploads == {}


def test_an_open_upload_to_a_key_without_the_digest_is_never_taken_up(client: S3Client, s3: FakeS3, file: Path) -> None:
    digest = write(file, 24 * KIB)
    s3.uploads["foreign"] = OpenUpload("latest.onnx", {}, "text/plain", {1: b"y" * 8 * KIB})
    s3.uploads["neighbour"] = OpenUpload("latest.onnx.bak", {}, "text/plain", {})
    r2.upload(client, BUCKET, "latest.onnx", file, digest, "text/plain", sizes=SIZES)
    assert s3.objects["latest.onnx"].data == file.read_bytes()
    assert list(s3.uploads) == ["neighbour"]


def test_an_upload_that_another_process_finished_first_counts_as_done(client: S3Client, s3: FakeS3, file: Path) -> None:
    digest = write(file, 40 * KIB)
    key = f"models/{digest}/m.onnx"

    def overtake(number: int) -> None:
        if number == 2 and s3.uploads:
            upload = s3.uploads.popitem()[1]
            s3.objects[key] = type("Done", (), vars(upload))()
            s3.objects[key].data = file.read_bytes()

    s3.on_part = overtake
    assert put(client, file, digest).sha256 == digest
    assert (list(s3.objects), s3.uploads) == ([key], {})


@pytest.mark.parametrize(
    ("size", "part"),
    [(1, 8 << 20), (10_000 * (8 << 20), 8 << 20), (10_000 * (8 << 20) + 1, 9 << 20), (5 << 40, 525 << 20)],
)
def test_parts_grow_only_when_there_would_be_too_many(size: int, part: int) -> None:
    assert multipart.fitting(8 << 20, size) == part
    assert -(-size // part) <= multipart.MOST_PARTS
