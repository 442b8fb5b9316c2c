"""How many cards a model needs: weights, cache and room to work in, by the way they are spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sluiceway.fit.count import Parameters, parameters
from sluiceway.fit.memory import CACHE_BYTES, Format, cache, weights
from sluiceway.fit.shape import Latent, Shape

COUNTS: Final = (1, 2, 4, 8, 16, 32, 64)
IN_A_NODE: Final = 8
USABLE: Final = 0.90
"""The share of a card's memory that an engine takes: the rest is the driver's and what fragments."""
WORKING: Final = 2 * 10**9
"""Bytes a card for activations, graphs and buffers."""

BATCH: Final = 256
"""Sequences at once beyond which engines gain little."""


@dataclass(frozen=True)
class Card:
    """``memory`` in bytes, ``bandwidth`` in bytes a second, ``bf16`` and ``fp8`` in dense operations a second,
    ``usd_hour`` for one. ``linked``: it has a link to other cards that is faster than the machine's bus."""

    name: str
    memory: int
    bandwidth: float
    bf16: float
    fp8: float | None = None
    usd_hour: float | None = None
    linked: bool = True

    @property
    def most(self) -> int:
        """The most cards that a model is spread over: those on a bus alone stay in one machine."""
        return COUNTS[-1] if self.linked else IN_A_NODE

    @property
    def room(self) -> int:
        return int(self.memory * USABLE)

    def flops(self, format: str) -> float:
        """Of matrices in that format: 4 and 8 bit weights are widened before they are multiplied, fp8 need not be."""
        return self.fp8 if format == "fp8" and self.fp8 else self.bf16


@dataclass(frozen=True)
class Load:
    """What is asked of the model: ``context`` tokens (prompt and answer) in each of ``sequences`` at once."""

    context: int
    sequences: int
    cache: str = "bf16"

    @property
    def width(self) -> int:
        return CACHE_BYTES[self.cache]


@dataclass(frozen=True)
class Layout:
    """``tensor`` cards share each layer, ``stages`` groups of them follow one another. ``expert``: each card has all
    but the experts, a share of these, and sequences of its own."""

    tensor: int = 1
    stages: int = 1
    expert: int = 1

    @property
    def cards(self) -> int:
        return self.tensor * self.stages * self.expert

    @property
    def name(self) -> str:
        if self.expert > 1:
            return f"expert parallel {self.expert}, attention by sequence"
        parts = [f"tensor parallel {self.tensor}"] if self.tensor > 1 else []
        parts += [f"pipeline of {self.stages}"] if self.stages > 1 else []
        return ", ".join(parts) or "one card"


@dataclass(frozen=True)
class Plan:
    """``need`` bytes on each card of ``layout``; ``short``: what one card alone lacks, 0 if nothing.

    ``layout`` is None when not even the most cards hold it; ``lacking`` is what they all together lack.
    """

    card: Card
    format: Format
    layout: Layout | None
    need: int
    short: int
    lacking: int = 0

    @property
    def cards(self) -> int | None:
        return self.layout.cards if self.layout else None


def plan(shape: Shape, card: Card, format: Format, load: Load) -> Plan:
    """The fewest cards that hold the model under ``load``; of two layouts the one that needs less."""
    counted = parameters(shape)
    short = max(0, need(shape, counted, format, load, Layout()) - card.room)
    least, widest = 0, Layout()
    for count in (each for each in COUNTS if each <= card.most):
        ways = [(need(shape, counted, format, load, layout), layout) for layout in layouts(shape, count, load)]
        if not ways:
            continue
        least, widest = min(ways, key=lambda pair: pair[0])
        if least <= card.room:
            return Plan(card, format, widest, least, short)
    return Plan(card, format, None, least, short, (least - card.room) * widest.cards)


def layouts(shape: Shape, count: int, load: Load) -> list[Layout]:
    """The ways to spread the model over ``count`` cards: heads divide by the cards of a layer, experts by theirs."""
    tensor = min(count, IN_A_NODE)
    while tensor > 1 and shape.attention.heads % tensor:
        tensor //= 2
    found = [Layout(tensor, count // tensor)] if count // tensor <= shape.layers else []
    experts = shape.experts
    if experts and 1 < count <= load.sequences and experts.count % count == 0:
        found.append(Layout(expert=count))
    return found


def need(shape: Shape, counted: Parameters, format: Format, load: Load, layout: Layout) -> int:
    """Bytes on the fullest card."""
    kept = cache(shape, load.context, load.width)
    if layout.expert > 1:
        held = weights(counted, format, experts=False) + _share(weights(counted, format, rest=False), layout.expert)
        return held + kept * _share(load.sequences, layout.expert) + WORKING
    # A latent is one for all heads, so that each card of a layer has it whole.
    split = 1 if isinstance(shape.attention, Latent) else min(layout.tensor, shape.attention.kv_heads)
    held = _share(weights(counted, format), layout.cards)
    return held + _share(kept * load.sequences, split * layout.stages) + WORKING


def most_sequences(shape: Shape, plan: Plan, load: Load) -> int:
    """Of sequences like those of ``load``, so many as the cards of the plan hold at once, up to BATCH."""
    counted = parameters(shape)
    found = load.sequences
    while plan.layout and found < BATCH:
        wider = min(BATCH, found * 2)
        if need(shape, counted, plan.format, replace(load, sequences=wider), plan.layout) > plan.card.room:
            break
        found = wider
    return found


def _share(amount: int, parts: int) -> int:
    return -(-amount // parts)
