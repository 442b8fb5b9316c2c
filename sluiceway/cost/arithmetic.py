"""What a request costs, in whole nanodollars.

Sums of whole numbers are the same in any order, and the cheapest token still has several nanodollars.
The Worker computes the same in ``worker/src/budget/cost.ts``, in the same order of operations;
``tests/contract/cost.json`` holds both to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Final

from sluiceway.domain.model import Price

NANOS_PER_USD: Final = 10**9
_NANOS: Final = 1_000
"""Nanodollars for a token, by a price of one dollar for a million of them."""


@dataclass(frozen=True)
class Tokens:
    """Tokens as they are paid for: ``cached`` is part of ``prompt``, reasoning is part of ``completion``."""

    prompt: int
    completion: int = 0
    cached: int = 0


def cost(price: Price, tokens: Tokens) -> int:
    """Nanodollars; never below 0, also where more cached tokens are told than the prompt has."""
    cached = min(tokens.cached, tokens.prompt)
    dear = (tokens.prompt - cached) * float(price.input)
    cheap = cached * float(price.input if price.cached is None else price.cached)
    return floor((dear + cheap + tokens.completion * float(price.output)) * _NANOS + 0.5)


def worst_cost(price: Price, prompt_tokens: int, max_tokens: int) -> int:
    """The most that a request may come to, in nanodollars: nothing of its prompt is in the prefix cache."""
    dearest = price.input if price.cached is None else max(price.input, price.cached)
    return cost(Price(input=dearest, output=price.output), Tokens(prompt_tokens, max_tokens))


def nanos_of(usd: float) -> int:
    """Whole nanodollars of an amount in US dollars."""
    return floor(usd * NANOS_PER_USD + 0.5)


def usd_of(nanos: int) -> float:
    return nanos / NANOS_PER_USD
