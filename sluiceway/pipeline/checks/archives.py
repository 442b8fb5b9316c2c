"""Archives: how much they would unpack to, where to, and whether pickles are in them. Nothing is unpacked to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from sluiceway.errors import UserError
from sluiceway.pipeline.checks.facts import Limits
from sluiceway.pipeline.checks.pickles import NAMES

UNREADABLE = (
    zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, struct.error, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What reading a damaged archive, or one packed by a method that Python lacks, raises; bz2 raises OSError."""

_SMALL = 16 * 2**20
"""Bytes below which a high ratio harms nobody."""
_CHUNK = 2**20
_STREAMS: dict[bytes, Callable[[Path], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}


def is_archive(head: bytes) -> bool:
    """Whether the first bytes are those of an archive: zip, gzip, bzip2, xz, zstd, 7z or tar."""
    magics = (b"PK\x03\x04", b"PK\x05\x06", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", *_STREAMS)
    return head.startswith(magics) or head[257:262] == b"ustar"


def check(path: Path, limits: Limits) -> None:
    """Refuses an archive that unpacks to too much, writes outside its folder or holds pickles; else says nothing."""
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"PK"):
        _zip(path, limits)
        return
    opener = next((opener for magic, opener in _STREAMS.items() if head.startswith(magic)), None)
    if opener is not None:
        _stream(path, opener, limits)


def _zip(path: Path, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except UNREADABLE as error:
        raise UserError("this archive can't be read", path=str(path), got=str(error), hint="pack it again") from error
    if len(members) > limits.max_members:
        raise _bomb(path, f"holds {len(members)} files, and {limits.max_members} are allowed")
    for member in members:
        _member(path, member.filename)
    _amount(path, sum(member.file_size for member in members), limits)


def _member(path: Path, name: str) -> None:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or ":" in name:
        raise UserError(
            "a file of this archive would be written outside its folder",
            path=str(path),
            got=name,
            hint="pack it again with plain relative names",
        )
    if pure.suffix.lower() in NAMES:
        raise UserError(
            "this archive holds a pickle",
            path=str(path),
            got=name,
            hint="give the weights as safetensors or ONNX: a pickle can run code when it is opened",
        )


def _stream(path: Path, opener: Callable[[Path], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile], limits: Limits) -> None:
    total = 0
    try:
        with opener(path) as file:
            while chunk := file.read(_CHUNK):
                total += len(chunk)
                _amount(path, total, limits)
    except (OSError, *UNREADABLE) as error:
        raise UserError("this archive can't be read", path=str(path), got=str(error), hint="pack it again") from error


def _amount(path: Path, unpacked: int, limits: Limits) -> None:
    packed = max(path.stat().st_size, 1)
    if unpacked > limits.max_unpacked_bytes:
        raise _bomb(path, f"unpacks to more than {limits.max_unpacked_bytes} bytes")
    if unpacked > _SMALL and unpacked > packed * limits.max_ratio:
        raise _bomb(path, f"unpacks to more than {limits.max_ratio} times its size")


def _bomb(path: Path, found: str) -> UserError:
    return UserError(f"this archive {found}", path=str(path), hint="look into it by hand before anything unpacks it")
