"""Writes generated files whole or not at all, and leaves a file alone that is right already."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_file(path: Path, content: str | bytes) -> bool:
    """Puts ``content`` (text as UTF-8, line ends as given) at ``path``; False if it was there already.

    A reader sees the old file or the new one. The mode is that of a file made by hand (umask).
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
