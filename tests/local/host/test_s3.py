"""R2's S3 API by boto3, through the public port."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.local.host.driver import Host, Version

READER = "export default { async fetch(r, env) { return new Response((await env.R2.get(new URL(r.url).pathname.slice(1))).body); } }"
CHECKSUMS = ["when_required", "when_supported"]


@pytest.fixture(scope="module")
def buckets(host: Host) -> Host:
    version = Version({"index.js": READER}, bindings=[{"name": "R2", "type": "r2_bucket", "bucket_name": "models"}])
    host.apply(
        host.worker("reader", [(version, 100)]), r2=[{"id": "models", "name": "models", "jurisdiction": "default"}]
    )
    return host


def client(host: Host, checksums: str = "when_required", **more: Any) -> Any:
    config = Config(
        region_name="auto",
        s3={"addressing_style": "path"},
        request_checksum_calculation=checksums,  # type: ignore[arg-type]
        response_checksum_validation=checksums,  # type: ignore[arg-type]
        retries={"max_attempts": 1},
    )
    credentials = {"aws_access_key_id": "a" * 32, "aws_secret_access_key": "b" * 64, **more}
    return boto3.client("s3", endpoint_url=f"{host.front}/cdn-cgi/local/r2/s3", config=config, **credentials)


@pytest.fixture(params=CHECKSUMS)
def s3(buckets: Host, request: pytest.FixtureRequest) -> Iterator[Any]:
    one = client(buckets, request.param)
    yield one
    one.close()


def test_r2_01_put_get_head_and_ranges(buckets: Host, s3: Any) -> None:
    s3.put_object(Bucket="models", Key="a/b c+é.bin", Body=b"hello", Metadata={"sha256": "2cf2"}, ContentType="x/y")
    head = s3.head_object(Bucket="models", Key="a/b c+é.bin")
    assert (head["ContentLength"], head["Metadata"], head["ContentType"]) == (5, {"sha256": "2cf2"}, "x/y")
    got = s3.get_object(Bucket="models", Key="a/b c+é.bin")
    assert got["Body"].read() == b"hello" and got["ETag"] == head["ETag"]
    assert s3.get_object(Bucket="models", Key="a/b c+é.bin", Range="bytes=1-3")["Body"].read() == b"ell"
    assert buckets.admin.get(buckets.object("models", "a/b c+é.bin")).content == b"hello"


def test_r2_01_a_multipart_upload_is_read_by_a_worker_byte_for_byte(buckets: Host, s3: Any) -> None:
    content = os.urandom(20 << 20)
    parts = TransferConfig(multipart_threshold=8 << 20, multipart_chunksize=8 << 20)
    s3.upload_fileobj(io.BytesIO(content), "models", "large.onnx", Config=parts)
    assert buckets.get("/large.onnx").content == content
    assert s3.head_object(Bucket="models", Key="large.onnx")["ETag"].endswith('-3"')


def test_r2_02_parts_by_hand_and_an_abort(s3: Any) -> None:
    part = os.urandom(5 << 20)
    upload = s3.create_multipart_upload(Bucket="models", Key="by-hand", Metadata={"a": "b"})["UploadId"]
    where = {"Bucket": "models", "Key": "by-hand", "UploadId": upload}
    tags = [
        {"PartNumber": number, "ETag": s3.upload_part(**where, PartNumber=number, Body=body)["ETag"]}
        for number, body in ((1, part), (2, part), (3, b"tail"))
    ]
    s3.complete_multipart_upload(**where, MultipartUpload={"Parts": tags})
    assert s3.get_object(Bucket="models", Key="by-hand")["Body"].read() == part * 2 + b"tail"
    where["UploadId"] = s3.create_multipart_upload(Bucket="models", Key="by-hand")["UploadId"]
    s3.upload_part(**where, PartNumber=1, Body=part)
    s3.abort_multipart_upload(**where)
    with pytest.raises(ClientError, match="NoSuchUpload"):
        s3.upload_part(**where, PartNumber=2, Body=part)


def test_r2_02_parts_of_unequal_size_are_refused(s3: Any) -> None:
    upload = s3.create_multipart_upload(Bucket="models", Key="uneven")["UploadId"]
    where = {"Bucket": "models", "Key": "uneven", "UploadId": upload}
    sizes = (6 << 20, 5 << 20, 6 << 20)
    tags = [
        {"PartNumber": number, "ETag": s3.upload_part(**where, PartNumber=number, Body=bytes(size))["ETag"]}
        for number, size in enumerate(sizes, 1)
    ]
    with pytest.raises(ClientError) as caught:
        s3.complete_multipart_upload(**where, MultipartUpload={"Parts": tags})
    # R2 says InvalidPart; the local S3 service refuses too, with a name of its own.
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 404)
    with pytest.raises(ClientError, match="404"):
        s3.head_object(Bucket="models", Key="uneven")


def test_r2_01_lists_and_deletes_many(s3: Any) -> None:
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


def test_a_put_does_not_wait_for_a_second(s3: Any) -> None:
    began = time.monotonic()
    for _ in range(3):
        s3.put_object(Bucket="models", Key="quick", Body=b"x" * 1024)
    assert time.monotonic() - began < 2.5, "each put waits for the 100-continue that the runtime never sends"


def test_wrong_keys_and_absent_things_have_s3s_errors(buckets: Host) -> None:
    good, bad = client(buckets), client(buckets, aws_secret_access_key="c" * 64)
    for one, call, code in (
        (bad, lambda: bad.get_object(Bucket="models", Key="x"), "SignatureDoesNotMatch"),
        (good, lambda: good.get_object(Bucket="models", Key="absent"), "NoSuchKey"),
        (good, lambda: good.get_object(Bucket="absent", Key="x"), "NoSuchBucket"),
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert caught.value.response["Error"]["Code"] == code, one
    good.close()
    bad.close()


def test_a_presigned_url_needs_no_keys(buckets: Host) -> None:
    s3 = client(buckets)
    s3.put_object(Bucket="models", Key="signed", Body=b"signed")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "models", "Key": "signed"})
    assert buckets.client.get(url).content == b"signed"
    s3.close()


def test_an_upload_over_the_workers_body_limit_is_no_worker_request(start: Any) -> None:
    host = start(body_limit=1 << 20)
    host.apply(r2=[{"id": "models", "name": "models", "jurisdiction": "default"}])
    s3 = client(host)
    s3.put_object(Bucket="models", Key="big", Body=bytes(2 << 20))
    assert s3.head_object(Bucket="models", Key="big")["ContentLength"] == 2 << 20
    s3.close()
