"""Publishing: once, whole, under the keys of the plan, and never over another version."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluiceway.catalog.model import File
from sluiceway.cloudflare import r2
from sluiceway.domain.model import ModelRef
from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.package import package, verify
from sluiceway.pipeline.publish.send import Published, choose, described, publish
from sluiceway.pipeline.publish.shelf import Bucket, Record, RecordFile, record, record_key, shelved, state
from sluiceway.pipeline.publish.stated import Stated
from sluiceway.planning.names import artifact_key
from tests.unit.cloudflare.fake_s3 import FakeS3
from tests.unit.pipeline.package.samples import META
from tests.unit.pipeline.package.test_package import CLASSIFY, external, made

REF = ModelRef("tiny", 3)


def send(bucket: Bucket, folder: Path, ref: ModelRef = REF, **more: Any) -> Published:  # noqa: ANN401
    return publish(bucket, ref, folder, described(folder, verify(folder)), **more)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return package(made(tmp_path), replace(META, licence="MIT"), tmp_path / "other").folder


def test_a_package_lies_under_the_keys_of_the_plan_and_its_record_names_them(
    bucket: Bucket, s3: FakeS3, built: Path
) -> None:
    told: list[int] = []
    done = send(bucket, built, tell=told.append)
    keys = {artifact_key("tiny", 3, file.sha256, file.name): file for file in done.files}
    assert set(s3.objects) == {*keys, record_key(REF)}
    assert all(s3.objects[key].data == (built / file.name).read_bytes() for key, file in keys.items())
    assert {file.name for file in done.files} == {path.name for path in built.iterdir()}
    assert sum(told) == sum(file.bytes for file in done.files)
    assert (set(done.sent), done.already) == ({file.name for file in done.files}, False)
    found = record(bucket, REF)
    assert found is not None
    assert (found.version, found.package, found.files) == ("tiny@3", done.package, done.files)
    entry = shelved(bucket)[0]
    assert (entry.ref, state(entry, done.files), entry.bytes) == (REF, "yes", sum(file.bytes for file in done.files))


def test_the_record_is_the_last_thing_written(bucket: Bucket, s3: FakeS3, built: Path) -> None:
    send(bucket, built)
    assert s3.of("PUT")[-1].endswith("version.json")
    assert {headers.get("if-none-match") for method, _, headers in s3.requests[-1:]} == {"*"}


def test_the_same_package_again_sends_nothing(bucket: Bucket, s3: FakeS3, built: Path) -> None:
    send(bucket, built)
    s3.requests.clear()
    done = send(bucket, built)
    assert (done.already, done.sent, s3.of("PUT"), s3.of("POST")) == (True, (), [], [])


def test_a_version_is_never_overwritten(bucket: Bucket, s3: FakeS3, built: Path, other: Path) -> None:
    send(bucket, built)
    before = dict(s3.objects)
    with pytest.raises(UserError, match="tiny@3 is published with other files") as caught:
        send(bucket, other)
    assert "--version 4" in (caught.value.hint or "")
    assert s3.objects == before


def test_of_two_that_publish_at_once_the_second_is_refused(
    bucket: Bucket, s3: FakeS3, built: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(bucket, built)
    theirs = record(bucket, REF)
    said = iter([None, theirs])
    monkeypatch.setattr("sluiceway.pipeline.publish.send.record", lambda _bucket, _ref: next(said))
    with pytest.raises(UserError, match="is published with other files"):
        send(bucket, other)
    assert Record.model_validate_json(s3.objects[record_key(REF)].data, strict=False) == theirs


def test_a_file_that_went_missing_is_sent_again(bucket: Bucket, s3: FakeS3, built: Path) -> None:
    send(bucket, built)
    gone = next(key for key in s3.objects if key.endswith("model.onnx"))
    del s3.objects[gone]
    done = send(bucket, built)
    assert (done.sent, done.already) == (("model.onnx",), False)
    assert gone in s3.objects


def test_other_bytes_under_a_key_are_told_and_left(bucket: Bucket, s3: FakeS3, built: Path) -> None:
    send(bucket, built)
    key = next(key for key in s3.objects if key.endswith("model.onnx"))
    s3.objects[key].data = b"somebody else's"
    with pytest.raises(SluicewayError, match=r"model\.onnx: other bytes lie under this key"):
        send(bucket, built)
    assert s3.objects[key].data == b"somebody else's"


def test_a_publish_that_fails_leaves_no_record(bucket: Bucket, s3: FakeS3, built: Path, tmp_path: Path) -> None:
    s3.lie_about_size = True
    with pytest.raises(SluicewayError, match="another size"):
        send(bucket, built)
    assert record_key(REF) not in s3.objects


def test_a_file_that_changes_after_it_was_verified_is_not_published(
    bucket: Bucket, s3: FakeS3, built: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(built, tmp_path / "p")
    files = described(folder, verify(folder))
    (folder / "tokenizer.json").write_bytes(b"x" * (folder / "tokenizer.json").stat().st_size)
    with pytest.raises(UserError, match="the file changed while it was uploaded"):
        publish(bucket, REF, folder, files)
    assert record_key(REF) not in s3.objects


def test_files_of_other_names_and_empty_ones_have_no_place_in_a_version(tmp_path: Path) -> None:
    for at, name in enumerate(("a/b/c/d/e.bin", "a b.bin", "w/.hidden.bin", "模型.bin")):
        odd = package(external(tmp_path / f"in{at}", [name]), CLASSIFY, tmp_path / f"out{at}")
        with pytest.raises(UserError, match="names of letters, digits"):
            described(odd.folder, odd.manifest)
    model = made(tmp_path)
    (model.folder / "notes.txt").touch()
    empty = package(model, META, tmp_path / "empty")
    with pytest.raises(UserError, match=r"notes\.txt: an empty file can't be published"):
        described(empty.folder, empty.manifest)


def _file(digit: str) -> RecordFile:
    return RecordFile(name="model.onnx", sha256=digit * 64, bytes=1)


def _stated(number: int, digit: str) -> Stated:
    file = File(name="model.onnx", path="a/model.onnx", sha256=digit * 64, bytes=1)
    return Stated(ModelRef("tiny", number), "embed", "onnx", None, (file,))


def _shelf(number: int, digit: str) -> tuple[ModelRef, Record]:
    ref = ModelRef("tiny", number)
    return ref, Record(version=str(ref), package="0" * 64, files=(_file(digit),))


@pytest.mark.parametrize(
    ("stated", "shelf", "number"),
    [
        ([], [], 1),
        ([_stated(1, "a")], [], 2),
        ([_stated(1, "a")], [_shelf(4, "b")], 5),
        ([_stated(1, "c"), _stated(2, "a")], [], 1),
        ([_stated(1, "a")], [_shelf(2, "c")], 2),
    ],
    ids=["the first", "after those stated", "after those published", "stated already", "published already"],
)
def test_a_package_becomes_the_version_that_it_is_or_the_next(
    stated: list[Stated], shelf: list[tuple[ModelRef, Record]], number: int
) -> None:
    assert choose("tiny", [_file("c")], stated, shelf, None) == ModelRef("tiny", number)


def test_a_number_that_has_other_files_is_refused_with_the_next_one() -> None:
    assert choose("tiny", [_file("c")], [_stated(1, "c")], [], 1) == ModelRef("tiny", 1)
    assert choose("tiny", [_file("c")], [_stated(1, "a")], [], 7) == ModelRef("tiny", 7)
    for stated, shelf in (([_stated(1, "a"), _stated(2, "b")], []), ([], [_shelf(1, "a"), _shelf(2, "b")])):
        with pytest.raises(UserError, match="tiny@1 is published with other files") as caught:
            choose("tiny", [_file("c")], stated, shelf, 1)
        assert "tiny@3" in (caught.value.hint or "")


def test_what_is_no_record_is_told(bucket: Bucket, s3: FakeS3, built: Path) -> None:
    send(bucket, built)
    s3.objects[record_key(REF)].data = json.dumps({"format": 2}).encode()
    with pytest.raises(SluicewayError, match="is no record of a version"):
        record(bucket, REF)


def test_r2_01_nothing_is_sent_with_checksums_that_r2_refuses(
    bucket: Bucket, s3: FakeS3, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server refuses such a request; this tells that the strict one was asked at all, by every kind of call.
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported")
    monkeypatch.setattr("sluiceway.pipeline.publish.send.PART", 1024)
    monkeypatch.setattr(r2, "Sizes", lambda part, parallel: _SIZES(1024, part, parallel))
    send(bucket, built)
    assert s3.of("POST")
    names = {name for _, _, headers in s3.requests for name in headers}
    assert not {name for name in names if name.startswith(("x-amz-checksum-", "x-amz-sdk-checksum", "x-amz-trailer"))}


_SIZES = r2.Sizes
