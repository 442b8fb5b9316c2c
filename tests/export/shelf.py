"""A package goes to a bucket of the local stage's own R2 and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sluiceway.domain.model import ModelRef
from sluiceway.pipeline.package import Manifest, verify
from sluiceway.pipeline.publish.pull import pull, wanted
from sluiceway.pipeline.publish.send import described, publish
from sluiceway.pipeline.publish.shelf import Bucket
from sluiceway.planning.names import artifact_key

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def there_and_back(client: S3Client, model: str, package: Path, out: Path) -> Manifest:
    """What ``package`` says of itself. It was published as ``model``@1, pulled into ``out``, and verified there."""
    bucket, ref = Bucket("local", "models", client, artifact_key), ModelRef(model, 1)
    manifest = verify(package)
    files = described(package, manifest)
    assert publish(bucket, ref, package, files).already is False
    assert pull(bucket, ref, wanted(bucket, ref, ()), out) is True
    assert verify(out) == manifest
    return manifest
