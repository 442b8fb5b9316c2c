"""Publishing to the local stage's own R2: by parts, once, and on after a kill -9, which its S3 can't help with."""

from __future__ import annotations

import random
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.publish import MB, Place, measure
from sluiceway.domain.model import ModelRef
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.publish.gc import decide, remove
from sluiceway.pipeline.publish.pull import pull, wanted
from sluiceway.pipeline.publish.send import publish
from sluiceway.pipeline.publish.shelf import Bucket, RecordFile, shelved, state
from sluiceway.planning.names import artifact_key
from tests.local.host.driver import Host

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

MIB = 1 << 20
REF = ModelRef("tiny", 1)


def folder_of(path: Path, seed: int) -> tuple[Path, tuple[RecordFile, ...]]:
    """Files as a package has them: one that goes in parts, and a small one."""
    path.mkdir(parents=True)
    made = []
    for name, size in (("model.onnx", 19 * MIB + 5), ("model.json", 300)):
        data = random.Random(seed + size).randbytes(size)
        (path / name).write_bytes(data)
        made.append(RecordFile(name=name, sha256=sha256(data).hexdigest(), bytes=size))
    return path, tuple(made)


@pytest.mark.long
def test_a_version_goes_there_once_comes_back_and_is_cleared_away(r2_client: S3Client, tmp_path: Path) -> None:
    bucket = Bucket("local", "models", r2_client, artifact_key)
    folder, files = folder_of(tmp_path / "a" / "package", 1)
    assert publish(bucket, REF, folder, files).already is False
    assert publish(bucket, REF, folder, files).already is True
    other, others = folder_of(tmp_path / "b" / "package", 2)
    with pytest.raises(UserError, match="tiny@1 is published with other files"):
        publish(bucket, REF, other, others)
    publish(bucket, ModelRef("tiny", 2), other, others)
    assert [state(entry, files) for entry in shelved(bucket, "tiny")] == ["yes", "no"]
    pull(bucket, REF, wanted(bucket, REF, ()), tmp_path / "pulled")
    assert {p.name: p.read_bytes() for p in (tmp_path / "pulled").iterdir()} == {
        p.name: p.read_bytes() for p in folder.iterdir()
    }
    remove(bucket, decide(shelved(bucket), 1, []))
    assert [entry.ref.number for entry in shelved(bucket)] == [2]
    with pytest.raises(SluicewayError, match="has no such version"):
        wanted(bucket, REF, ())
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["package"]


@pytest.mark.long
def test_r2_02_an_upload_that_was_killed_at_60_percent_sends_the_rest_in_bounded_memory(
    r2_host: Host, tmp_path: Path
) -> None:
    place = Place(f"{r2_host.front}/cdn-cgi/local/r2/s3", "a" * 32, "b" * 64, "models")
    found = measure(place, tmp_path, 90 * MB, 1, print)
    assert 0 < found.again <= 0.4
    assert max(run.peak_mb for run in found.ours) < 300
    assert found.ours[0].sent == 90 * MB
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx.data"]
