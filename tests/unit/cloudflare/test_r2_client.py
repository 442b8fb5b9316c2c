from __future__ import annotations

import io
import random
from hashlib import sha256
from pathlib import Path
from typing import IO, cast

import pytest

from sluiceway.cloudflare import r2
from tests.unit.cloudflare.fake_s3 import BUCKET, FakeS3

MIB = 1 << 20


class Stream(io.RawIOBase):
    """Bytes that can be read once and not sought, in pieces of any size."""

    def __init__(self, data: bytes) -> None:
        self._source, self._random = io.BytesIO(data), random.Random(3)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        return self._source.read(self._random.randint(1, max(1, size)) if size > 0 else size)


@pytest.mark.parametrize("ambient", ["nothing", "when_supported"])
def test_r2_01_no_call_carries_a_checksum_that_r2_refuses(
    s3: FakeS3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ambient: str
) -> None:
    if ambient == "when_supported":
        monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported")
        monkeypatch.setenv("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_supported")
    client = r2.client(s3.url, "key-id", "secret")
    path = tmp_path / "file"
    for key, size in (("small", 5), ("large", 20 * MIB)):
        data = random.Random(size).randbytes(size)
        path.write_bytes(data)
        r2.upload(client, BUCKET, key, path, sha256(data).hexdigest(), "application/octet-stream")
        assert s3.objects[key].data == data
    client.put_object(Bucket=BUCKET, Key="put", Body=io.BytesIO(b"bytes of a stream"))
    client.upload_fileobj(cast(IO[bytes], Stream(b"z" * 9 * MIB)), BUCKET, "stream")
    assert s3.objects["stream"].data == b"z" * 9 * MIB
    for key in ("small", "large", "stream"):
        r2.delete(client, BUCKET, key)
    assert list(s3.objects) == ["put"]
    assert not [path for path in s3.of("POST") if "?delete" in path]
    assert len([path for path in s3.of("PUT") if "partNumber" in path]) == 3, "the large one went in parts"


def test_the_server_of_these_tests_refuses_a_default_boto3_client(s3: FakeS3) -> None:
    import boto3
    from botocore.exceptions import ClientError

    plain = boto3.client(
        "s3", endpoint_url=s3.url, region_name="auto", aws_access_key_id="k", aws_secret_access_key="s",
        verify=str(Path(__file__).with_name("loopback-for-tests.pem")),
    )  # fmt: skip
    with pytest.raises(ClientError, match=r"NotImplemented|Unauthorized"):
        plain.put_object(Bucket=BUCKET, Key="k", Body=b"data")


def test_settings_that_the_user_keeps_for_aws_change_nothing(
    s3: FakeS3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile work]\nregion = eu-west-1\nendpoint_url = https://127.0.0.1:1\nca_bundle = /nowhere\n"
        "max_attempts = not-a-number\ns3 =\n  addressing_style = virtual\n  use_accelerate_endpoint = true\n"
        "request_checksum_calculation = when_supported\nresponse_checksum_validation = when_supported\n"
    )
    hostile = {
        "AWS_PROFILE": "work",
        "AWS_DEFAULT_PROFILE": "absent",
        "AWS_CONFIG_FILE": str(config),
        "AWS_SHARED_CREDENTIALS_FILE": str(config),
        "AWS_ACCESS_KEY_ID": "AKIAAMBIENT",
        "AWS_SECRET_ACCESS_KEY": "ambient",
        "AWS_SESSION_TOKEN": "ambient-session",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": "https://127.0.0.1:1",
        "AWS_ENDPOINT_URL_S3": "https://127.0.0.1:1",
        "AWS_CA_BUNDLE": "/nowhere",
        "AWS_USE_FIPS_ENDPOINT": "true",
        "AWS_USE_DUALSTACK_ENDPOINT": "true",
        "AWS_MAX_ATTEMPTS": "not-a-number",
        "AWS_RETRY_MODE": "no-such-mode",
        "AWS_DEFAULTS_MODE": "no-such-mode",
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_supported",
        "HTTPS_PROXY": "http://127.0.0.1:1",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    client = r2.client(s3.url, "our-key", "our-secret")
    client.put_object(Bucket=BUCKET, Key="k", Body=b"data")
    _, path, headers = s3.requests[0]
    assert path == "/models/k"
    assert "Credential=our-key/" in headers["authorization"]
    assert "/auto/s3/aws4_request" in headers["authorization"]
    assert "x-amz-security-token" not in headers


@pytest.mark.parametrize(
    ("jurisdiction", "expected"),
    [
        ("default", "https://abc.r2.cloudflarestorage.com"),
        ("eu", "https://abc.eu.r2.cloudflarestorage.com"),
        ("fedramp", "https://abc.fedramp.r2.cloudflarestorage.com"),
    ],
)
def test_tf_06_a_jurisdiction_has_a_host_of_its_own(
    monkeypatch: pytest.MonkeyPatch, jurisdiction: str, expected: str
) -> None:
    monkeypatch.delenv("SLUICEWAY_R2_ENDPOINT", raising=False)
    assert r2.endpoint("abc", jurisdiction) == expected
    assert r2.bucket_at_endpoint("models", jurisdiction) == "models"


def test_tf_06_one_given_endpoint_tells_jurisdictions_apart_by_the_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEWAY_R2_ENDPOINT", "http://127.0.0.1:8787/s3")
    assert r2.endpoint("abc", "eu") == "http://127.0.0.1:8787/s3"
    assert r2.bucket_at_endpoint("models", "eu") == "eu_models"
    assert r2.bucket_at_endpoint("models") == "models"


def test_the_key_pair_is_made_of_the_token_as_cloudflare_does() -> None:
    pair = r2.credentials("tok-1", "0123")
    assert pair.access_key_id == "0123"
    assert pair.secret_access_key == sha256(b"tok-1").hexdigest()
    assert pair.secret_access_key not in repr(pair)
    assert r2.local_token_id("tok-1") == sha256(b"id:tok-1").hexdigest()[:32]
