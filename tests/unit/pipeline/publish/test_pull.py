"""Pulling: by digest, whole or not at all, and on from where it broke off."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sluiceway.domain.model import ModelRef
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.package import package, verify
from sluiceway.pipeline.publish.pull import pull, wanted
from sluiceway.pipeline.publish.shelf import Bucket, RecordFile, record_key, shelved, state
from tests.unit.cloudflare.fake_s3 import FakeS3
from tests.unit.pipeline.package.test_package import CLASSIFY, external
from tests.unit.pipeline.publish.test_send import REF, send


@pytest.fixture
def files(bucket: Bucket, built: Path) -> tuple[RecordFile, ...]:
    return send(bucket, built).files


def test_what_was_published_comes_back_byte_for_byte(
    bucket: Bucket, files: tuple[RecordFile, ...], built: Path, tmp_path: Path
) -> None:
    told: list[int] = []
    assert wanted(bucket, REF, ()) == files
    assert pull(bucket, REF, files, tmp_path / "out", told.append) is True
    assert verify(tmp_path / "out") == verify(built)
    assert sum(told) == sum(file.bytes for file in files)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_same_again_fetches_nothing_and_something_else_is_left(
    bucket: Bucket, s3: FakeS3, files: tuple[RecordFile, ...], tmp_path: Path
) -> None:
    pull(bucket, REF, files, tmp_path / "out")
    s3.requests.clear()
    assert pull(bucket, REF, files, tmp_path / "out") is False
    assert s3.requests == []
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(UserError, match="something else is there already"):
        pull(bucket, REF, files, tmp_path / "out")


def test_a_pull_that_broke_goes_on_at_its_byte(
    bucket: Bucket, s3: FakeS3, files: tuple[RecordFile, ...], tmp_path: Path
) -> None:
    s3.cut_off = 700
    with pytest.raises(SluicewayError, match="fetching models/tiny/3/"):
        pull(bucket, REF, files, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    left = sum(path.stat().st_size for path in next(tmp_path.glob(".out*")).iterdir())
    s3.cut_off = None
    s3.requests.clear()
    told: list[int] = []
    pull(bucket, REF, files, tmp_path / "out", told.append)
    ranges = [headers["range"] for method, _, headers in s3.requests if method == "GET"]
    assert left > 0
    assert any(not text.startswith("bytes=0-") for text in ranges)
    assert sum(told) == sum(file.bytes for file in files)
    verify(tmp_path / "out")


def test_leftovers_of_other_bytes_are_fetched_anew(
    bucket: Bucket, files: tuple[RecordFile, ...], tmp_path: Path
) -> None:
    gathered = tmp_path / ".out.tiny-3.pulling"
    gathered.mkdir()
    (gathered / "model.onnx").write_bytes(b"not the beginning of it")
    (gathered / "foreign").touch()
    pull(bucket, REF, files, tmp_path / "out")
    verify(tmp_path / "out")


def test_bytes_that_changed_in_the_bucket_are_never_kept(
    bucket: Bucket, s3: FakeS3, files: tuple[RecordFile, ...], tmp_path: Path
) -> None:
    key = next(key for key in s3.objects if key.endswith("model.onnx"))
    data = s3.objects[key].data
    s3.objects[key].data = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(SluicewayError, match=r"model\.onnx: isn't the file of sha256"):
        pull(bucket, REF, files, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / ".out.tiny-3.pulling" / "model.onnx").exists()


def test_what_was_never_published_or_is_stated_otherwise_is_told(
    bucket: Bucket, files: tuple[RecordFile, ...], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="tiny@9: local has no such version"):
        wanted(bucket, ModelRef("tiny", 9), ())
    with pytest.raises(UserError, match=r"models/tiny\.yaml has other files than what was published"):
        wanted(bucket, REF, files[:1])
    assert wanted(bucket, REF, files) == files
    with pytest.raises(SluicewayError, match="fetching models/tiny/9/"):
        pull(bucket, ModelRef("tiny", 9), files, tmp_path / "out")


@pytest.fixture
def nested(bucket: Bucket, tmp_path: Path) -> Path:
    """A published package whose weights lie in folders; its folder."""
    done = package(external(tmp_path / "model", ["w/a.bin", "w/deep/b.bin", "c.bin"]), CLASSIFY, tmp_path / "n" / "p")
    send(bucket, done.folder)
    return done.folder


def test_weights_in_folders_come_back_as_they_lay(bucket: Bucket, s3: FakeS3, nested: Path, tmp_path: Path) -> None:
    files = wanted(bucket, REF, ())
    assert pull(bucket, REF, files, tmp_path / "out") is True
    assert verify(tmp_path / "out") == verify(nested)
    s3.requests.clear()
    assert pull(bucket, REF, files, tmp_path / "out") is False
    assert s3.requests == []
    (entry,) = shelved(bucket)
    assert state(entry, files) == "yes"


def test_what_a_pull_of_other_files_left_in_folders_goes(bucket: Bucket, nested: Path, tmp_path: Path) -> None:
    gathered = tmp_path / ".out.tiny-3.pulling"
    for name in ("w/old.bin", "gone/x/y.bin", "w/a.bin"):
        (gathered / name).parent.mkdir(parents=True, exist_ok=True)
        (gathered / name).touch()
    pull(bucket, REF, wanted(bucket, REF, ()), tmp_path / "out")
    verify(tmp_path / "out")
    assert not (tmp_path / "out" / "gone").exists()


@pytest.mark.parametrize("name", ["../x", "/etc/x", "w/../../x", "w//x", "w/./x", "", "a\\b", "w", "w/a.bin/y"])
def test_a_record_that_leads_elsewhere_is_no_record(bucket: Bucket, s3: FakeS3, nested: Path, name: str) -> None:
    key = record_key(REF)
    document = json.loads(s3.objects[key].data)
    document["files"].append({"name": name, "sha256": "0" * 64, "bytes": 1})
    s3.objects[key].data = json.dumps(document).encode()
    with pytest.raises(SluicewayError, match="is no record of a version"):
        wanted(bucket, REF, ())


def test_a_folder_that_is_empty_is_filled(bucket: Bucket, files: tuple[RecordFile, ...], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert pull(bucket, REF, files, tmp_path / "out") is True
    shutil.rmtree(tmp_path / "out")
