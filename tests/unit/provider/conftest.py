from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from sluiceway.engine.resolve import resolve
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace
from tests.unit.provider.engine_runs import Program
from tests.unit.provider.fake_cloudflare import FakeCloudflare
from tests.unit.provider.harness import Driver

CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def fake() -> FakeCloudflare:
    return FakeCloudflare()


@pytest.fixture
def driver(fake: FakeCloudflare) -> Driver:
    return Driver(fake)


@pytest.fixture(scope="session")
def engine_path() -> Path:
    """The engine that this checkout uses; fetched or built if need be."""
    given = os.environ.get("SLUICEWAY_TEST_ENGINE")
    return Path(given) if given else resolve(Workspace(CHECKOUT), Progress()).path


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[FakeCloudflare, str]]:
    """A fake Cloudflare behind a port of its own, and its base URL."""
    fake = FakeCloudflare()
    server = uvicorn.Server(uvicorn.Config(fake.app(), host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield fake, f"http://127.0.0.1:{port}/client/v4"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def program(engine_path: Path, served: tuple[FakeCloudflare, str], tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The sample program with a fresh stack on the real engine."""
    return Program.make(tmp_path_factory.mktemp("program"), engine_path, served[1])
