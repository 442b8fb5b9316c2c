from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sluiceway.workspace import Workspace

ROOT = Path(__file__).parents[3]
ACCOUNT = "0123456789abcdef0123456789abcdef"
ZONE = "{name: example.com, id: 0123456789abcdef0123456789abcdee}"

Stack = Callable[..., Workspace]


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """A checkout with this project's Pulumi.yaml and one stack ``dev`` of the given lines below ``config:``."""

    def write(*lines: str, account: str = f'"{ACCOUNT}"', top: str = "") -> Workspace:
        (tmp_path / "stacks").mkdir(exist_ok=True)
        (tmp_path / "Pulumi.yaml").write_bytes((ROOT / "Pulumi.yaml").read_bytes())
        body = "".join(f"  {line}\n" for line in [f"sluiceway:account_id: {account}", *lines])
        (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(f"{top}config:\n{body}", encoding="utf-8")
        return Workspace(tmp_path)

    return write
