"""Hosts for tests: one shared by a module where a test leaves nothing behind, own ones where a process is harmed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.local.host.driver import Host
from tests.local.host.upstream import Upstream

StartHost = Callable[..., Host]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    one = Host(tmp_path_factory.mktemp("host"))
    yield one
    one.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartHost]:
    """``start()`` starts a host on this test's data directory; again, after it ended, on the same data."""
    started: list[Host] = []

    def begin(**config: Any) -> Host:
        started.append(Host(tmp_path, **config))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()
