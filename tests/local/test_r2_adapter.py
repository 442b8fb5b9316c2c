"""Our R2 adapter against the local stage's own S3 endpoint, in front of real workerd."""

from __future__ import annotations

import random
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sluiceway.cloudflare import r2
from sluiceway.errors import SluicewayError
from tests.local.host.driver import Host

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

MIB = 1 << 20


@pytest.fixture
def file(tmp_path: Path) -> tuple[Path, str]:
    data = random.Random(5).randbytes(13 * MIB + 7)
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    return path, sha256(data).hexdigest()


@pytest.mark.parametrize("single", [16 * MIB, MIB], ids=["one request", "parts of 5 MiB"])
def test_a_file_is_there_byte_for_byte_and_sent_once(r2_client: S3Client, file: tuple[Path, str], single: int) -> None:
    path, digest = file
    key = f"models/{single}/{digest}/model.onnx"
    sizes = r2.Sizes(single=single, part=5 * MIB)
    first = r2.upload(r2_client, "models", key, path, digest, "application/octet-stream", sizes=sizes)
    again = r2.upload(r2_client, "models", key, path, digest, "application/octet-stream", sizes=sizes)
    assert (first.uploaded, again.uploaded) == (True, False)
    assert r2_client.get_object(Bucket="models", Key=key)["Body"].read() == path.read_bytes()
    assert r2.head(r2_client, "models", key) == r2.ObjectHead(first.etag, path.stat().st_size, digest)
    r2.delete(r2_client, "models", key)
    assert r2.head(r2_client, "models", key) is None
    r2.delete(r2_client, "models", key)


def test_tf_06_a_bucket_of_a_jurisdiction_is_another_bucket(
    r2_client: S3Client, file: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, digest = file
    monkeypatch.setenv("SLUICEWAY_R2_ENDPOINT", "http://127.0.0.1/s3")
    bucket = r2.bucket_at_endpoint("models", "eu")
    r2.upload(r2_client, bucket, "k", path, digest, "application/octet-stream")
    assert r2.head(r2_client, bucket, "k") is not None
    assert r2.head(r2_client, "models", "k") is None


def test_a_wrong_secret_is_told_without_showing_it(r2_host: Host, file: tuple[Path, str]) -> None:
    path, digest = file
    wrong = r2.client(f"{r2_host.front}/cdn-cgi/local/r2/s3", "a" * 32, "c" * 64)
    with pytest.raises(SluicewayError) as caught:
        r2.upload(wrong, "models", "k2", path, digest, "application/octet-stream")
    assert str(caught.value).startswith("r2://models: reading k2 failed: R2 answered 403")
    assert "Workers R2 Storage: Edit" in (caught.value.hint or "")
    assert "c" * 64 not in caught.value.render()
