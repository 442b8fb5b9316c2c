"""What lies beside a model: no links, no pickles, no archives."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import archives, pickles
from sluiceway.pipeline.checks.facts import Limits

_HEAD = 64 * 1024


def check(folder: Path, limits: Limits, data: frozenset[str] = frozenset()) -> None:
    """Refuses the first file in ``folder`` that is a link, a pickle or an archive; ``data``: posix names of weights."""
    for path in _files(folder):
        regular(path)
        head, tail = _ends(path)
        if archives.is_archive(head):
            archives.check(path, limits)
            raise UserError(
                "an archive lies in the model's folder",
                path=str(path),
                hint="unpack what belongs to the model, and take the archive out",
            )
        pickles.check(path, head, tail, path.relative_to(folder).as_posix() in data)


def regular(path: Path, lone: bool = False) -> os.stat_result:
    """What stat says of ``path``, which must be a plain file; ``lone``: one without a second name (a hard link)."""
    try:
        found = path.lstat()
    except OSError as error:
        raise UserError(
            "there is no such file", path=str(path), hint="put it there, or build the model again"
        ) from error
    if stat.S_ISLNK(found.st_mode):
        raise UserError("this is a symbolic link", path=str(path), hint="put the file itself there")
    if not stat.S_ISREG(found.st_mode):
        raise UserError("this is no plain file", path=str(path), hint="put a plain file there")
    if lone and found.st_nlink > 1:
        raise UserError(
            "this file has another name outside the model (a hard link)",
            path=str(path),
            got=found.st_nlink,
            hint="copy the file: what is under both names can be changed after it was checked",
        )
    return found


def _files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in folders:
            if (Path(root) / name).is_symlink():
                raise UserError(
                    "this is a symbolic link", path=str(Path(root) / name), hint="put the folder itself there"
                )
        yield from (Path(root) / name for name in sorted(files))


def _ends(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if not head:
            return b"", b""
        file.seek(-1, os.SEEK_END)
        return head, file.read(1)
