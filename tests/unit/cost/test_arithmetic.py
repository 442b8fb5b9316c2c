from __future__ import annotations

import json
from typing import Any

import pytest

from sluiceway.cost.arithmetic import Tokens, cost, nanos_of, usd_of, worst_cost
from sluiceway.domain.model import Price
from tests.contract.make_cost import FILE, document

CASES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
PRICE = Price(input=1.0, cached=0.5, output=10.0)


def test_the_contract_file_is_what_its_script_writes() -> None:
    assert FILE.read_text(encoding="utf-8") == document()


def test_every_contract_case_has_its_cost() -> None:
    assert len(CASES) > 200
    for case in CASES:
        price = Price(**case["price"])
        assert cost(price, Tokens(case["prompt"], case["completion"], case["cached"])) == case["nanos"], case
        assert worst_cost(price, case["prompt"], case["completion"]) == case["worst"], case


@pytest.mark.parametrize(
    ("tokens", "usd"),
    [
        (Tokens(2006, 300, cached=1920), 0.004046),
        (Tokens(2006, 300), 0.005006),
        (Tokens(2006, 300, cached=2006), 0.004003),
        (Tokens(100, 0, cached=250), 0.00005),
        (Tokens(0), 0.0),
    ],
)
def test_gw_15_cached_tokens_are_paid_once_at_their_own_price(tokens: Tokens, usd: float) -> None:
    assert usd_of(cost(PRICE, tokens)) == usd


def test_gw_15_without_a_price_of_their_own_cached_tokens_cost_what_others_do() -> None:
    price = Price(input=1.0, output=10.0)
    assert cost(price, Tokens(100, 5, cached=60)) == cost(price, Tokens(100, 5))


def test_the_worst_case_is_never_below_the_cost() -> None:
    for case in CASES:
        assert case["worst"] >= case["nanos"], case


def test_dollars_and_nanodollars() -> None:
    assert nanos_of(0.01) == 10_000_000
    assert nanos_of(0.1) + nanos_of(0.2) == nanos_of(0.3)
    assert usd_of(nanos_of(12.345678901)) == 12.345678901
