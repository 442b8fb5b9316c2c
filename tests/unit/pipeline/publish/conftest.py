from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sluiceway.pipeline.package import package
from sluiceway.pipeline.publish.shelf import Bucket
from sluiceway.planning.names import artifact_key
from tests.unit.cloudflare.conftest import client, s3, server, shared_client
from tests.unit.cloudflare.fake_s3 import BUCKET
from tests.unit.pipeline.package.samples import META
from tests.unit.pipeline.package.test_package import made

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

__all__ = ["client", "s3", "server", "shared_client"]


@pytest.fixture
def bucket(client: S3Client) -> Bucket:
    return Bucket("local", BUCKET, client, artifact_key)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package. Its folder stands alone in another, where journals would lie."""
    folder = tmp_path_factory.mktemp("built")
    return package(made(folder), META, folder / "shelf" / "package").folder
