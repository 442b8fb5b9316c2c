from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sluiceway.cloudflare import r2
from tests.unit.cloudflare.fake_s3 import CERTIFICATE, FakeS3, serve

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeS3]:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with serve() as state:
        yield state


@pytest.fixture
def client(s3: FakeS3) -> S3Client:
    return r2.client(s3.url, "key-id", "secret-of-the-key")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"
