"""R2's S3 API by boto3, through the public port."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, cast

import boto3
import httpx
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.local.host.conftest import StartHost
from tests.local.host.driver import Host, Version

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

READER = """
export default { fetch: async (r, env) => new Response((await env.R2.get(new URL(r.url).pathname.slice(1))).body) };
"""
Checksums = Literal["when_required", "when_supported"]
CHECKSUMS: list[Checksums] = ["when_required", "when_supported"]


BUCKETS = [
    {"id": "models", "name": "models", "jurisdiction": "default"},
    {"id": "eu_models", "name": "models", "jurisdiction": "eu"},
]
VERSION = Version({"index.js": READER}, bindings=[{"name": "R2", "type": "r2_bucket", "bucket_name": "models"}])


@pytest.fixture
def buckets(host: Host) -> Host:
    host.apply(host.worker("reader", [(VERSION, 100)]), r2=BUCKETS)
    return host


def client(host: Host, checksums: Checksums = "when_required", secret: str = "b" * 64) -> S3Client:
    config = Config(
        region_name="auto",
        s3={"addressing_style": "path"},
        request_checksum_calculation=checksums,
        response_checksum_validation=checksums,
        retries={"max_attempts": 1},
    )
    return boto3.client(
        "s3",
        endpoint_url=f"{host.front}/cdn-cgi/local/r2/s3",
        config=config,
        aws_access_key_id="a" * 32,
        aws_secret_access_key=secret,
    )


@pytest.fixture(params=CHECKSUMS)
def s3(buckets: Host, request: pytest.FixtureRequest) -> Iterator[S3Client]:
    one = client(buckets, cast("Checksums", request.param))
    yield one
    one.close()


def test_r2_01_put_get_head_and_ranges(buckets: Host, s3: S3Client) -> None:
    s3.put_object(Bucket="models", Key="a/b c+é.bin", Body=b"hello", Metadata={"sha256": "2cf2"}, ContentType="x/y")
    head = s3.head_object(Bucket="models", Key="a/b c+é.bin")
    assert (head["ContentLength"], head["Metadata"], head["ContentType"]) == (5, {"sha256": "2cf2"}, "x/y")
    got = s3.get_object(Bucket="models", Key="a/b c+é.bin")
    assert got["Body"].read() == b"hello" and got["ETag"] == head["ETag"]
    assert s3.get_object(Bucket="models", Key="a/b c+é.bin", Range="bytes=1-3")["Body"].read() == b"ell"
    assert buckets.admin.get(buckets.object("models", "a/b c+é.bin")).content == b"hello"


def test_r2_01_a_multipart_upload_is_read_by_a_worker_byte_for_byte(buckets: Host, s3: S3Client) -> None:
    content = os.urandom(20 << 20)
    parts = TransferConfig(multipart_threshold=8 << 20, multipart_chunksize=8 << 20)
    s3.upload_fileobj(io.BytesIO(content), "models", "large.onnx", Config=parts)
    assert buckets.get("/large.onnx").content == content
    assert s3.head_object(Bucket="models", Key="large.onnx")["ETag"].endswith('-3"')


def upload_parts(s3: S3Client, key: str, bodies: Sequence[bytes]) -> tuple[str, list[CompletedPartTypeDef]]:
    """An upload that is not completed yet: its id and what completing it needs."""
    upload = s3.create_multipart_upload(Bucket="models", Key=key)["UploadId"]
    parts: list[CompletedPartTypeDef] = []
    for number, body in enumerate(bodies, 1):
        part = s3.upload_part(Bucket="models", Key=key, UploadId=upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": part["ETag"]})
    return upload, parts


def test_r2_02_parts_by_hand_and_an_abort(s3: S3Client) -> None:
    bodies = [os.urandom(5 << 20), os.urandom(5 << 20), b"tail"]
    upload, parts = upload_parts(s3, "by-hand", bodies)
    s3.complete_multipart_upload(Bucket="models", Key="by-hand", UploadId=upload, MultipartUpload={"Parts": parts})
    assert s3.get_object(Bucket="models", Key="by-hand")["Body"].read() == b"".join(bodies)
    upload, _ = upload_parts(s3, "aborted", bodies[:1])
    s3.abort_multipart_upload(Bucket="models", Key="aborted", UploadId=upload)
    with pytest.raises(ClientError, match="NoSuchUpload"):
        s3.upload_part(Bucket="models", Key="aborted", UploadId=upload, PartNumber=2, Body=bodies[1])


def test_r2_02_parts_of_unequal_size_are_refused(s3: S3Client) -> None:
    upload, parts = upload_parts(s3, "uneven", [bytes(size << 20) for size in (6, 5, 6)])
    with pytest.raises(ClientError) as caught:
        s3.complete_multipart_upload(Bucket="models", Key="uneven", UploadId=upload, MultipartUpload={"Parts": parts})
    # R2 says InvalidPart; the local S3 service refuses too, with a name of its own.
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 404)
    with pytest.raises(ClientError, match="404"):
        s3.head_object(Bucket="models", Key="uneven")


def test_r2_01_lists_and_deletes_many(s3: S3Client) -> None:
    for number in range(5):
        s3.put_object(Bucket="models", Key=f"many/{number}", Body=b"x")
    page = s3.list_objects_v2(Bucket="models", Prefix="many/", MaxKeys=3)
    assert [one["Key"] for one in page["Contents"]] == ["many/0", "many/1", "many/2"]
    rest = s3.list_objects_v2(Bucket="models", Prefix="many/", ContinuationToken=page["NextContinuationToken"])
    assert [one["Key"] for one in rest["Contents"]] == ["many/3", "many/4"]
    s3.delete_object(Bucket="models", Key="many/0")
    gone = s3.delete_objects(Bucket="models", Delete={"Objects": [{"Key": f"many/{n}"} for n in range(1, 4)]})
    assert len(gone["Deleted"]) == 3
    assert [one["Key"] for one in s3.list_objects_v2(Bucket="models", Prefix="many/")["Contents"]] == ["many/4"]


def test_a_put_is_told_to_go_on_and_does_not_wait_for_a_second(buckets: Host, s3: S3Client) -> None:
    url = httpx.URL(s3.generate_presigned_url("put_object", Params={"Bucket": "models", "Key": "quick"}))
    head = f"PUT {url.raw_path.decode()} HTTP/1.1\r\nhost: {url.netloc.decode()}\r\ncontent-length: 4\r\n"
    with socket.create_connection((url.host, url.port or 0), timeout=20) as wire:
        wire.sendall(f"{head}expect: 100-continue\r\n\r\n".encode())
        # A client that hears nothing sends the body after a second of its own accord; this one doesn't.
        assert wire.recv(100).startswith(b"HTTP/1.1 100")
        wire.sendall(b"body")
        assert wire.recv(1000).startswith(b"HTTP/1.1 200")
    assert buckets.admin.get(buckets.object("models", "quick")).content == b"body"


def test_tf_06_a_bucket_of_another_jurisdiction_is_reached_by_its_id(buckets: Host, s3: S3Client) -> None:
    s3.put_object(Bucket="eu_models", Key="only-eu", Body=b"eu")
    assert buckets.admin.get(buckets.object("eu_models", "only-eu")).content == b"eu"
    with pytest.raises(ClientError, match="404"):
        s3.head_object(Bucket="models", Key="only-eu")


def test_wrong_keys_and_absent_things_have_s3s_errors(buckets: Host) -> None:
    good, bad = client(buckets), client(buckets, secret="c" * 64)
    for one, bucket, code in (
        (bad, "models", "SignatureDoesNotMatch"),
        (good, "models", "NoSuchKey"),
        (good, "absent", "NoSuchBucket"),
    ):
        with pytest.raises(ClientError) as caught:
            one.get_object(Bucket=bucket, Key="absent")
        assert caught.value.response["Error"]["Code"] == code
    good.close()
    bad.close()


def test_a_presigned_url_needs_no_keys(buckets: Host) -> None:
    s3 = client(buckets)
    s3.put_object(Bucket="models", Key="signed", Body=b"signed")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "models", "Key": "signed"})
    assert buckets.client.get(url).content == b"signed"
    s3.close()


def test_an_upload_over_the_workers_body_limit_is_no_worker_request(start: StartHost) -> None:
    host = start(body_limit=1 << 20)
    host.apply(r2=[{"id": "models", "name": "models", "jurisdiction": "default"}])
    s3 = client(host)
    s3.put_object(Bucket="models", Key="big", Body=bytes(2 << 20))
    assert s3.head_object(Bucket="models", Key="big")["ContentLength"] == 2 << 20
    s3.close()
