"""Which code a running stage was started from: after a ``git pull`` it still runs the old one."""

from __future__ import annotations

import hashlib
from pathlib import Path

_SUFFIXES = (".py", ".ts", ".json")


def fingerprint(root: Path = Path(__file__).parent) -> str:
    """Digest of the local stage's sources, 16 hex digits."""
    digest = hashlib.sha256()
    for path in sorted(each for each in root.rglob("*") if each.suffix in _SUFFIXES):
        if "node_modules" not in path.parts:
            digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
