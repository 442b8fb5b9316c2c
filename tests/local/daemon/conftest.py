"""Real stages in directories of their own, on free ports; whatever a test leaves running is ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sluiceway.local import lifecycle
from sluiceway.local.runtime_file import Runtime
from sluiceway.processes import is_same_process
from sluiceway.progress import Progress
from tests.node import NODE


def start(data: Path, **ports: int) -> Runtime:
    return lifecycle.start(data, **{"front_port": 0, "api_port": 0, **ports}, node=NODE, progress=Progress())  # type: ignore[arg-type]


def processes(runtime: Runtime) -> list[tuple[int, str | None]]:
    return [(runtime.pid, runtime.process_start), *runtime.children()]


def until(condition: Callable[[], bool], within: float = 15.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def all_gone(runtime: Runtime, within: float = 15.0) -> bool:
    return until(lambda: not any(is_same_process(*each) for each in processes(runtime)), within)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    found = tmp_path / "local"
    yield found
    lifecycle.stop(found)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Runtime]]:
    """One stage for the tests that only look at it."""
    found = tmp_path_factory.mktemp("stage") / "local"
    yield found, start(found)
    lifecycle.stop(found)
