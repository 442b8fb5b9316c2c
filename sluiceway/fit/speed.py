"""How fast a model answers, as a range between what good and what poor use of the cards gives.

Writing a token is bound by memory: all weights that the batch needs and its caches are read once. Reading a prompt
is bound by arithmetic. Both are estimates from data sheets, not measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sluiceway.fit.cards import Card, Layout, Load, Plan
from sluiceway.fit.count import Parameters, parameters
from sluiceway.fit.memory import Format, cache_read, weights
from sluiceway.fit.shape import Grouped, Shape

BANDWIDTH_USED: Final = (0.8, 0.5)
FLOPS_USED: Final = (0.6, 0.3)
ALONE: Final = (10e-6, 40e-6)
LINKED: Final = (20e-6, 150e-6)
UNLINKED: Final = (80e-6, 400e-6)
"""Seconds to start the work of a layer: on one card; on several, which also exchange results, by link or by bus."""


@dataclass(frozen=True)
class Range:
    """From the quick estimate to the slow one, in seconds."""

    quick: float
    slow: float


@dataclass(frozen=True)
class Speed:
    """``first``: until the first token of a prompt of ``prompt`` tokens, none waiting before it. ``token``: between two
    tokens of one answer, where ``batch`` are written at once; None for an encoder. ``read``: for each token of a
    prompt, when all cards are busy with prompts."""

    prompt: int
    batch: int
    first: Range
    token: Range | None
    read: Range

    def seconds_a_token(self, quick: bool) -> tuple[float, float]:
        """Time of the machine that one token of a prompt, and one of an answer, takes of it when it is busy."""
        read = self.read.quick if quick else self.read.slow
        written = 0.0 if self.token is None else (self.token.quick if quick else self.token.slow) / self.batch
        return read, written


def speed(shape: Shape, plan: Plan, load: Load, prompt: int) -> Speed | None:
    """None when no number of cards holds the model. ``prompt`` is at least 1 token."""
    if plan.layout is None:
        return None
    layers = ALONE if plan.layout.cards == 1 else LINKED if plan.card.linked else UNLINKED
    quick, slow = (_Case(plan.card, plan.layout, BANDWIDTH_USED[at], FLOPS_USED[at], layers[at]) for at in (0, 1))
    counted = parameters(shape)
    token = None
    if not shape.encoder:
        token = Range(_token(shape, counted, plan.format, load, quick), _token(shape, counted, plan.format, load, slow))
    first = Range(*(_first(shape, counted, plan.format, prompt, case) for case in (quick, slow)))
    read = Range(*(_read(shape, counted, plan.format, prompt, case) for case in (quick, slow)))
    return Speed(prompt, load.sequences, first, token, read)


@dataclass(frozen=True)
class _Case:
    card: Card
    layout: Layout
    bandwidth: float
    flops: float
    layer: float


def experts_read(shape: Shape, batch: int) -> float:
    """Of the experts of a layer, the share that ``batch`` tokens need, where each takes its own at random."""
    if shape.experts is None:
        return 0.0
    return 1.0 - (1.0 - shape.experts.per_token / shape.experts.count) ** batch


def _token(shape: Shape, counted: Parameters, format: Format, load: Load, case: _Case) -> float:
    layout = case.layout
    batch = -(-load.sequences // layout.stages)
    routed = weights(counted, format, rest=False) * experts_read(shape, batch)
    table = 0 if counted.tied else counted.embedding * format.table / 8
    rest = weights(counted, format, experts=False) - table
    read = cache_read(shape, load.context, load.width) * load.sequences
    if layout.expert > 1:
        amount = rest + (routed + read) / layout.expert
    else:
        # The stages of a pipeline follow one another: for one token they save the cache's share alone.
        amount = (rest + routed) / layout.tensor + read / layout.cards
    return amount / (case.card.bandwidth * case.bandwidth) + shape.layers * case.layer


def _first(shape: Shape, counted: Parameters, format: Format, prompt: int, case: _Case) -> float:
    rest, routed = _work(shape, counted, prompt)
    layout = case.layout
    # Where each card has sequences of its own, one prompt has the other cards for its experts alone.
    work = rest + routed / layout.expert if layout.expert > 1 else (rest + routed) / layout.tensor
    return work / (case.card.flops(format.name) * case.flops) + shape.layers * case.layer


def _read(shape: Shape, counted: Parameters, format: Format, prompt: int, case: _Case) -> float:
    """As many prompts at once as there are stages, or cards with sequences of their own."""
    abreast = case.layout.stages * case.layout.expert
    work = sum(_work(shape, counted, prompt)) / case.layout.cards
    seconds = work / (case.card.flops(format.name) * case.flops) + shape.layers * case.layer / abreast
    return seconds / prompt


def _work(shape: Shape, counted: Parameters, prompt: int) -> tuple[float, float]:
    """Operations for a prompt: of all but the routed experts, and of these."""
    # Of a prompt only the last token goes through the head.
    head = counted.embedding if counted.tied else counted.head
    rest = counted.per_step - head - counted.experts_active
    return 2.0 * rest * prompt + _attention_work(shape, prompt), 2.0 * counted.experts_active * prompt


def _attention_work(shape: Shape, prompt: int) -> float:
    it = shape.attention
    wide = it.heads * (2 * it.head_dim if isinstance(it, Grouped) else it.nope + it.rope + it.value)
    topk = shape.indexer.topk if shape.indexer else prompt
    seen = sum(min(prompt, window or prompt, topk) for window in shape.windows)
    half = 1.0 if shape.encoder else 0.5
    return 2.0 * wide * seen * prompt * half
