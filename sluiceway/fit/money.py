"""What a month costs: Workers AI by the token, against cards that are paid whether they work or not."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import Final

from sluiceway.cost.arithmetic import Tokens, cost, usd_of
from sluiceway.domain.model import Price
from sluiceway.fit.cards import Plan
from sluiceway.fit.speed import Speed

HOURS: Final = 730
BUSY: Final = 0.5
"""Of a month's hours the share in which reserved cards have as much to do as they can: traffic has nights."""


@dataclass(frozen=True)
class Mix:
    """Tokens read for each token written: 3:1 is Mix(3, 1). Embeddings write none."""

    read: float
    written: float

    @property
    def share(self) -> float:
        """Of all tokens, those that are read."""
        return self.read / (self.read + self.written)

    def tokens(self, month: int) -> Tokens:
        read = round(month * self.share)
        return Tokens(read, month - read)


@dataclass(frozen=True)
class Reserved:
    """``usd`` a month for ``cards`` cards; they do from ``least`` to ``most`` tokens a month.

    ``batch``: so many answers they write at once.
    """

    card: str
    cards: int
    usd_hour: float
    usd: float
    batch: int
    least: int
    most: int

    def for_volume(self, month: int) -> tuple[float, float]:
        """US dollars for ``month`` tokens, at the quick and at the slow estimate: as many sets as it takes."""
        return tuple(self.usd * max(1, ceil(month / max(1, able))) for able in (self.most, self.least))  # type: ignore[return-value]


@dataclass(frozen=True)
class BreakEven:
    """``tokens`` a month at which Workers AI costs what one set of cards does.

    ``reached``: "yes" when the set does so many by the slow estimate, "perhaps" by the quick one alone, "no" when
    sets like it stay the dearer at any volume.
    """

    tokens: int
    reached: str


def reserved(plan: Plan, speed: Speed | None, mix: Mix, usd_hour: float | None) -> Reserved | None:
    """None without a price, or when no number of cards holds the model."""
    if plan.cards is None or speed is None or usd_hour is None:
        return None
    return Reserved(
        card=plan.card.name,
        cards=plan.cards,
        usd_hour=usd_hour,
        usd=plan.cards * usd_hour * HOURS,
        batch=speed.batch,
        least=_able(speed, mix, quick=False),
        most=_able(speed, mix, quick=True),
    )


def _able(speed: Speed, mix: Mix, *, quick: bool) -> int:
    read, written = speed.seconds_a_token(quick)
    return int(HOURS * 3600 * BUSY / (read * mix.share + written * (1 - mix.share)))


def workers_ai(price: Price, mix: Mix, month: int) -> float:
    """US dollars for ``month`` tokens, none of them out of the prefix cache."""
    return usd_of(cost(price, mix.tokens(month)))


def break_even(price: Price, mix: Mix, set_of_cards: Reserved) -> BreakEven | None:
    """None when Workers AI's price of the mix is 0: then it is never the dearer."""
    each = (price.input * mix.share + price.output * (1 - mix.share)) / 1_000_000
    if each <= 0 or not isfinite(set_of_cards.usd / each):
        return None
    tokens = ceil(set_of_cards.usd / each)
    able = "yes" if tokens <= set_of_cards.least else "perhaps" if tokens <= set_of_cards.most else "no"
    return BreakEven(tokens, able)
