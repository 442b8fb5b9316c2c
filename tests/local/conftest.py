"""What tests on real parts share."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluiceway.engine.resolve import Engine, resolve
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine that this checkout uses; fetched or built if need be."""
    return resolve(Workspace(CHECKOUT), Progress())
