"""What tests on real parts share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluiceway.engine.resolve import Engine, resolve
from sluiceway.local import lifecycle
from sluiceway.local.runtime_file import Runtime
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace
from tests.node import NODE

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine that this checkout uses; fetched or built if need be."""
    return resolve(Workspace(CHECKOUT), Progress())


@dataclass(frozen=True)
class LocalStage:
    """A running local stage: Cloudflare's API and workerd, on ports of its own."""

    data: Path
    runtime: Runtime

    @property
    def token(self) -> str:
        return (self.data / "token").read_text().strip()


@pytest.fixture(scope="session")
def local_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """One stage for all tests of a session: name Workers and buckets so that tests don't meet."""
    data = tmp_path_factory.mktemp("stage")
    runtime = lifecycle.start(data, front_port=0, api_port=0, node=NODE, progress=Progress())
    try:
        yield LocalStage(data, runtime)
    finally:
        lifecycle.stop(data)
