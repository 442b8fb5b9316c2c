"""Archives that a source may come in: refused before anything unpacks them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import Limits, check_archive

ZEROS = bytes(17 * 2**20)


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_plain_archive_passes(tmp_path: Path) -> None:
    check_archive(zipped(tmp_path / "a.zip", {"model/config.json": b"{}", "model/small": bytes(2**20)}), Limits())


@pytest.mark.parametrize(
    ("members", "limits", "said"),
    [
        ({"zeros": ZEROS}, Limits(), "more than 100 times its size"),
        ({"a": b"12345", "b": b"12345"}, Limits(max_unpacked_bytes=9), "more than 9 bytes"),
        ({str(number): b"" for number in range(4)}, Limits(max_members=3), "holds 4 files, and 3 are allowed"),
        ({"../up": b""}, Limits(), "outside its folder, got '../up'"),
        ({"/etc/x": b""}, Limits(), "outside its folder"),
        ({"C:\\x": b""}, Limits(), "outside its folder"),
        ({"archive/data.pkl": b""}, Limits(), "holds a pickle"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_zip_file_is_refused(members: dict[str, bytes], limits: Limits, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        check_archive(zipped(tmp_path / "a.zip", members), limits)
    assert said in str(refused.value)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_stream_is_read_no_further_than_it_may_unpack_to(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(pack(ZEROS))
    with pytest.raises(UserError, match="more than 100 times its size"):
        check_archive(path, Limits())
    path.write_bytes(pack(ZEROS)[:-4])
    with pytest.raises(UserError, match="can't be read"):
        check_archive(path, Limits(max_ratio=10**9))


def test_a_zip_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a": b"content"})
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UserError, match="can't be read"):
        check_archive(path, Limits())
