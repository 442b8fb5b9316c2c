"""What routing saves, worked out by hand."""

from __future__ import annotations

import pytest

from bench.edge.saving import Asked, saving
from sluiceway.domain.model import Price

LARGE, SMALL = Price(1.0, 4.0), Price(0.1, 0.4)
ANSWERS = {"simple": 100, "complex": 500}


def test_right_routes_save_what_the_simple_ones_cost_less() -> None:
    found = saving([Asked("simple", "simple", 20), Asked("complex", "complex", 40)], LARGE, SMALL, ANSWERS)
    assert found.all_large == pytest.approx((20 + 400 + 40 + 2000) / 2)
    assert found.routed == found.perfect == pytest.approx((42 + 2040) / 2)
    assert found.share == pytest.approx(378 / 2460)
    assert (found.to_small, found.hard_to_small, found.easy_to_large) == (0.5, 0.0, 0.0)


def test_mistakes_of_either_kind_are_told_and_counted() -> None:
    asked = [Asked("simple", "complex", 20), Asked("complex", "simple", 40), Asked("simple", "simple", 20)]
    found = saving(asked, LARGE, SMALL, ANSWERS)
    assert (found.hard_to_small, found.easy_to_large) == (1.0, 0.5)
    assert found.routed == pytest.approx((420 + 204 + 42) / 3)
    assert found.perfect == pytest.approx((42 + 2040 + 42) / 3)
