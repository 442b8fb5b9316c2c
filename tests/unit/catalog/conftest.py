from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sluiceway.workspace import Workspace

Models = Callable[[dict[str, str | bytes]], Workspace]


@pytest.fixture
def models(tmp_path: Path) -> Models:
    """A checkout whose models/ folder holds the given files."""

    def write(files: dict[str, str | bytes]) -> Workspace:
        for name, content in files.items():
            path = tmp_path / "models" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Workspace(tmp_path)

    return write
