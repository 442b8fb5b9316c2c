"""What tests on real parts share."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sluiceway.cloudflare import r2
from sluiceway.engine.resolve import Engine, resolve
from sluiceway.local import lifecycle
from sluiceway.local.runtime_file import Runtime
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace
from tests.local.host.driver import Host
from tests.node import NODE

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

CHECKOUT = Path(__file__).parents[2]
_LINES = 40


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    """A test that failed on a stage shows what that stage wrote: its processes are gone when a person looks."""
    report = yield
    if isinstance(report, pytest.TestReport) and report.failed and isinstance(item, pytest.Function):
        for stage in (one for one in item.funcargs.values() if isinstance(one, LocalStage)):
            for log in sorted((stage.data / "logs").glob("*.log")):
                lines = log.read_text(errors="replace").splitlines()[-_LINES:]
                report.sections.append((f"the end of the stage's {log.name}", "\n".join(lines)))
    return report


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


@pytest.fixture(scope="module")
def r2_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A data plane with the bucket ``models``, once without and once with a jurisdiction."""
    running = Host(tmp_path_factory.mktemp("host"))
    buckets = [
        {"id": "models", "name": "models", "jurisdiction": "default"},
        {"id": "eu_models", "name": "models", "jurisdiction": "eu"},
    ]
    try:
        assert running.put(running.world(r2=buckets)).status_code == 200
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def r2_client(r2_host: Host) -> S3Client:
    return r2.client(f"{r2_host.front}/cdn-cgi/local/r2/s3", "a" * 32, "b" * 64)
