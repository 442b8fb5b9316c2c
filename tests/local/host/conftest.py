"""Hosts for tests: one shared by all tests that set its world anew, own ones where a process is harmed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.local.host.driver import Host
from tests.local.host.upstream import Upstream

StartHost = Callable[..., Host]


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    one = Host(tmp_path_factory.mktemp("host"))
    yield one
    one.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartHost]:
    """``start()`` starts a host on this test's data directory; again, after it ended, on the same data."""
    started: list[Host] = []

    def begin(*, front_port: int = 0, **config: object) -> Host:
        started.append(Host(tmp_path, front_port=front_port, **config))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()
