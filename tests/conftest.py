"""Which tests run in the same process, when there are several (`scripts/test.sh` starts one a core)."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest

from tests.warm import Warm

# A shell starts what it puts in the background with Ctrl-C ignored, and every process below inherits that:
# the tests that press it would wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHELL_OF_A_STAGE = (
    *("PULUMI_HOME", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_SKIP_UPDATE_CHECK"),
    *("PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER", "CLOUDFLARE_BASE_URL", "CLOUDFLARE_API_BASE_URL"),
    *("CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID"),
    *("AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "WRANGLER_SEND_METRICS"),
    *("SLUICEWAY_ROOT", "SLUICEWAY_R2_ENDPOINT", "SLUICEWAY_LOCAL_URL"),
)
"""What `sluiceway env STAGE` leaves in a shell. No test is to find that stage, its token or its checkout."""

for _name in SHELL_OF_A_STAGE:
    os.environ.pop(_name, None)

_FOUND_AT_ONCE = {"engine", "engine_path", "warm"}
"""Shared, but all but free: whoever asks for these may run anywhere."""

# Imports and tests stay for good: to look through them all for garbage, again and again, was a fifth of collecting.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="the tests marked long too, as CI does")


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in a hook of its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a stage, a host or a render stay together, so that it is made once and not once a process."""
    for item in items:
        if isinstance(item, pytest.Function) and (name := _shared_by(item)):
            item.add_marker(pytest.mark.xdist_group(name))
    if not config.getoption("--all"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def _shared_by(item: pytest.Function) -> str | None:
    """The fixture that more tests than this one use: one of the session before one of the module."""
    known = item._fixtureinfo.name2fixturedefs
    ours = [known[name][-1] for name in item.fixturenames if name in known and name not in _FOUND_AT_ONCE]
    ours = [fixture for fixture in ours if fixture.baseid.startswith("tests/")]
    for fixture in ours:
        if fixture.scope == "session":
            return f"{fixture.baseid}:{fixture.argname}"
    return str(item.path) if any(fixture.scope == "module" for fixture in ours) else None


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """One a process of tests: it costs what a single start of the command costs."""
    found = Warm()
    yield found
    found.close()
