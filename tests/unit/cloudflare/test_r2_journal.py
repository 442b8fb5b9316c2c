"""Uploads in parts at a time, and what takes a killed one up where the server can't list its open uploads."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sluiceway.cloudflare import r2
from sluiceway.cloudflare.r2_journal import Journal, Sent, opened, place
from sluiceway.errors import SluicewayError, UserError
from tests.unit.cloudflare.fake_s3 import BUCKET, FakeS3

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

KIB = 1024
SIZES = r2.Sizes(single=KIB, part=5 * KIB, parallel=3)


def write(path: Path, size: int, seed: int = 1) -> str:
    data = random.Random(seed).randbytes(size)
    path.write_bytes(data)
    return sha256(data).hexdigest()


def put(client: S3Client, path: Path, digest: str, **more: Any) -> r2.UploadResult:  # noqa: ANN401
    return r2.upload(client, BUCKET, f"m/{digest}/f", path, digest, "text/plain", sizes=SIZES, **more)


def sent_parts(s3: FakeS3) -> list[int]:
    return sorted(int(path.partition("partNumber=")[2]) for path in s3.of("PUT"))


@pytest.mark.parametrize("size", [5 * KIB, 23 * KIB, 25 * KIB])
def test_r2_02_parts_that_travel_side_by_side_are_the_file(client: S3Client, s3: FakeS3, file: Path, size: int) -> None:
    together, most, now = threading.Lock(), [0], [0]
    met = threading.Event()

    def on_part(number: int) -> None:
        with together:
            now[0] += 1
            most[0] = max(most[0], now[0])
        if most[0] > 1:
            met.set()
        met.wait(2)
        with together:
            now[0] -= 1

    s3.on_part = on_part
    told: list[int] = []
    digest = write(file, size)
    put(client, file, digest, journals=file.parent, tell=told.append)
    assert s3.objects[f"m/{digest}/f"].data == file.read_bytes()
    assert sum(told) == size
    assert most[0] <= SIZES.parallel
    assert most[0] > 1 or size <= SIZES.part
    assert (s3.uploads, list(file.parent.glob(".upload*"))) == ({}, [])


UPLOADER = """
import sys
from pathlib import Path
from sluiceway.cloudflare import r2
url, path, digest = sys.argv[1:]
client = r2.client(url, "key-id", "secret-of-the-key")
sizes = r2.Sizes(single=1024, part=5 * 1024, parallel=1)
r2.upload(client, "models", f"m/{digest}/f", Path(path), digest, "text/plain", sizes=sizes, journals=Path(path).parent)
"""


def kill_at(s3: FakeS3, file: Path, digest: str, part: int) -> None:
    """Leaves an open upload of ``file`` with the parts before ``part``, by a process that was killed."""
    uploader = subprocess.Popen([sys.executable, "-c", UPLOADER, s3.url, str(file), digest])

    def kill(number: int) -> None:
        if number == part and uploader.poll() is None:
            uploader.kill()
            uploader.wait()
            s3.fail_part = part

    s3.on_part = kill
    assert uploader.wait(timeout=60) == -signal.SIGKILL
    s3.settled.wait(10)
    s3.fail_part = s3.on_part = None
    s3.requests.clear()


def test_r2_02_a_killed_upload_goes_on_where_the_server_can_not_list_it(
    client: S3Client, s3: FakeS3, file: Path
) -> None:
    s3.can_list = False
    digest = write(file, 23 * KIB)
    kill_at(s3, file, digest, 4)
    told: list[int] = []
    put(client, file, digest, journals=file.parent, tell=told.append)
    assert s3.objects[f"m/{digest}/f"].data == file.read_bytes()
    assert sent_parts(s3) == [4, 5]
    assert sum(told) == 23 * KIB
    assert (s3.uploads, list(file.parent.glob(".upload*"))) == ({}, [])


def test_an_upload_that_the_server_gave_up_begins_anew(client: S3Client, s3: FakeS3, file: Path) -> None:
    s3.can_list = False
    digest = write(file, 23 * KIB)
    kill_at(s3, file, digest, 4)
    s3.uploads.clear()
    put(client, file, digest, journals=file.parent)
    assert s3.objects[f"m/{digest}/f"].data == file.read_bytes()
    assert set(sent_parts(s3)) == {1, 2, 3, 4, 5}
    assert list(file.parent.glob(".upload*")) == []


def test_a_refused_upload_leaves_no_journal(client: S3Client, s3: FakeS3, file: Path) -> None:
    s3.fail_part = 3
    digest = write(file, 23 * KIB)
    with pytest.raises(SluicewayError, match="400 InvalidRequest"):
        put(client, file, digest, journals=file.parent)
    assert (s3.uploads, list(file.parent.glob(".upload*"))) == ({}, [])


def test_a_part_of_a_file_that_was_another_one_is_sent_again(client: S3Client, s3: FakeS3, file: Path) -> None:
    s3.can_list = False
    digest = write(file, 23 * KIB)
    subject = (client.meta.endpoint_url, BUCKET, f"m/{digest}/f", digest)
    kill_at(s3, file, digest, 4)
    path = place(file.parent, *subject)
    with opened(path, *subject) as journal:
        journal.add(2, Sent("of other bytes", "x"))
    put(client, file, digest, journals=file.parent)
    assert s3.objects[f"m/{digest}/f"].data == file.read_bytes()
    assert sent_parts(s3) == [2, 4, 5]


def test_two_processes_do_not_send_one_file_at_once(client: S3Client, s3: FakeS3, file: Path) -> None:
    digest = write(file, 23 * KIB)
    subject = (client.meta.endpoint_url, BUCKET, f"m/{digest}/f", digest)
    with (
        opened(place(file.parent, *subject), *subject),
        pytest.raises(UserError, match="another process is uploading this file"),
    ):
        put(client, file, digest, journals=file.parent)
    assert s3.uploads == {}


@pytest.mark.parametrize(
    "tail", ['{"part": 2, "tag": "b"', "not json\n", "[]\n", '{"part": 2, "tag": "b", "prefix": "c"}']
)
def test_a_line_that_was_cut_off_counts_as_not_written(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "j"
    with opened(path, "this") as journal:
        journal.begin("id", 8)
        journal.add(1, Sent("a", "m"))
    path.write_text(path.read_text() + tail)
    with path.open("a+") as stream:
        noted = Journal(stream, "this").read()
        assert noted is not None
        assert (noted.id, noted.part_size, noted.parts) == ("id", 8, {1: Sent("a", "m")})
        assert Journal(stream, "another").read() is None
        Journal(stream, "this").add(2, Sent("b", "n"))
        noted = Journal(stream, "this").read()
        assert noted is not None
        assert noted.parts == {1: Sent("a", "m"), 2: Sent("b", "n")}


def test_ctrl_c_leaves_the_upload_to_be_taken_up(client: S3Client, s3: FakeS3, file: Path) -> None:
    s3.can_list = False
    digest = write(file, 23 * KIB)

    def interrupt(size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        put(client, file, digest, journals=file.parent, tell=interrupt)
    assert len(s3.uploads) == 1
    assert s3.objects == {}
    begun = sent_parts(s3)
    s3.requests.clear()
    put(client, file, digest, journals=file.parent)
    assert s3.objects[f"m/{digest}/f"].data == file.read_bytes()
    assert len(begun) <= 1 + SIZES.parallel
    assert len(sent_parts(s3)) < 5
    assert list(file.parent.glob(".upload*")) == []
