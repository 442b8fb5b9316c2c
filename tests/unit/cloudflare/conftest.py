from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sluiceway.cloudflare import r2
from tests.unit.cloudflare.fake_s3 import CERTIFICATE, FakeS3, serve

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@pytest.fixture(scope="session")
def server() -> Iterator[FakeS3]:
    with serve() as state:
        yield state


@pytest.fixture
def s3(server: FakeS3, monkeypatch: pytest.MonkeyPatch) -> FakeS3:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    server.reset()
    return server


@pytest.fixture(scope="session")
def shared_client(server: FakeS3) -> Iterator[S3Client]:
    # Made once: botocore reads megabytes of descriptions for each client.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        made = r2.client(server.url, "key-id", "secret-of-the-key")
    yield made
    made.close()


@pytest.fixture
def client(s3: FakeS3, shared_client: S3Client) -> S3Client:
    return shared_client


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"
