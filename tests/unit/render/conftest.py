"""A real Pulumi Output, on an event loop that ends with the test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pulumi
import pytest


@pytest.fixture
def output() -> Iterator[pulumi.Output[str]]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield pulumi.Output.from_input("0123")
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    asyncio.set_event_loop(None)
