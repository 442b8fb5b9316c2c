"""Checkouts for the end-to-end tests: one that is up, shared; and fresh ones for what breaks things."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.checkout import Checkout, make_checkout
from tests.warm import Done, Warm


@dataclass(frozen=True)
class Served:
    """A checkout whose local stage is up: what ``up`` printed, where it answers, with which key."""

    checkout: Checkout
    up: Done
    url: str
    key: str


def bring_up(checkout: Checkout) -> Served:
    up = checkout.run(checkout.python, "-m", "sluiceway", "up", "local")
    assert up.code == 0, up.err
    url = checkout.sluiceway("output", "local", "url").out.strip()
    return Served(checkout, up, url, (checkout.root / ".sluiceway/local/api-key").read_text().strip())


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Iterator[Served]:
    checkout = make_checkout(tmp_path_factory.mktemp("served"), warm)
    try:
        yield bring_up(checkout)
    finally:
        checkout.sluiceway("local", "stop")


@pytest.fixture
def fresh(tmp_path: Path, warm: Warm) -> Iterator[Callable[[], Checkout]]:
    """Makes checkouts whose local stages are stopped when the test ends."""
    made: list[Checkout] = []

    def make() -> Checkout:
        checkout = make_checkout(tmp_path / f"checkout{len(made)}", warm)
        made.append(checkout)
        return checkout

    yield make
    for checkout in made:
        checkout.sluiceway("local", "stop")
