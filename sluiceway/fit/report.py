"""The whole answer: what a model is, where it fits, how fast and how dear it is there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sluiceway.domain.model import Price
from sluiceway.errors import UserError
from sluiceway.fit import money, tiers
from sluiceway.fit.cards import Card, Load, Plan, most_sequences, plan
from sluiceway.fit.count import Parameters, parameters
from sluiceway.fit.memory import BY_NAME, nearest
from sluiceway.fit.money import BreakEven, Mix, Reserved, break_even, reserved
from sluiceway.fit.shape import Shape
from sluiceway.fit.speed import Speed, speed
from sluiceway.fit.tiers import Tier
from sluiceway.fit.units import human_bytes

GPU_FORMATS: Final = ("bf16", "fp8", "int4")


@dataclass(frozen=True)
class Subject:
    """What is asked about. ``workers_ai``: ids there; ``price``: what its tokens cost there, None when unknown."""

    name: str
    source: str
    shape: Shape
    workers_ai: tuple[str, ...] = ()
    price: Price | None = None


@dataclass(frozen=True)
class Question:
    """``gpu``: the card to tell of, else the cheapest. ``usd_hour``: its price, else the card's own."""

    load: Load
    month: int
    mix: Mix
    gpu: str | None = None
    usd_hour: float | None = None


@dataclass(frozen=True)
class Report:
    subject: Subject
    question: Question
    counted: Parameters
    tiers: tuple[Tier, ...]
    plans: tuple[Plan, ...]
    best: Plan | None
    speed: Speed | None
    reserved: Reserved | None
    workers_ai_usd: float | None
    break_even: BreakEven | None

    @property
    def verdict(self) -> str:
        """``fits: Workers AI (...), GPU (...); misses: edge by 2.2 TB``."""
        fits = [f"{tier.name} ({tier.detail})" for tier in self.tiers if tier.fits and tier.name != "edge"]
        fits = [tier.name for tier in self.tiers if tier.fits and tier.name == "edge"] + fits
        misses = [
            f"{tier.name} by {human_bytes(tier.short)}" if tier.short else tier.name
            for tier in self.tiers
            if not tier.fits
        ]
        return "; ".join(f"{word}: {', '.join(names)}" for word, names in (("fits", fits), ("misses", misses)) if names)


def answer(subject: Subject, cards: tuple[Card, ...], question: Question) -> Report:
    """UserError when the context is longer than the model's, or no such card is known."""
    shape = subject.shape
    question = _checked(shape, cards, question)
    counted = parameters(shape)
    plans = tuple(plan(shape, card, BY_NAME[name], question.load) for card in cards for name in GPU_FORMATS)
    best = _best(plans, question, nearest(shape.precision))
    found = speed(shape, best, question.load, _prompt(question)) if best else None
    kept = _reserved(shape, best, question) if best else None
    price = subject.price
    return Report(
        subject=subject,
        question=question,
        counted=counted,
        tiers=(
            tiers.edge(shape, counted, question.load),
            tiers.workers_ai(shape, subject.workers_ai, question.load.context),
            tiers.gpu(tuple(each for each in plans if question.gpu in (None, each.card.name)), best),
        ),
        plans=plans,
        best=best,
        speed=found,
        reserved=kept,
        workers_ai_usd=money.workers_ai(price, question.mix, question.month) if price else None,
        break_even=break_even(price, question.mix, kept) if price and kept else None,
    )


def _checked(shape: Shape, cards: tuple[Card, ...], question: Question) -> Question:
    if question.gpu is not None and question.gpu not in {card.name for card in cards}:
        known = ", ".join(card.name for card in cards)
        raise UserError("no such card is known", path="--gpu", got=question.gpu, hint=f"known are {known}")
    if question.load.context > shape.limit:
        message = f"the model's context ends at {shape.limit:,} tokens"
        hint = f"ask for at most {shape.limit}"
        raise UserError(message, path="--context", got=question.load.context, hint=hint)
    return replace(question, mix=Mix(1, 0)) if shape.encoder else question


def _prompt(question: Question) -> int:
    return max(1, round(question.load.context * question.mix.share))


def _reserved(shape: Shape, best: Plan, question: Question) -> Reserved | None:
    """Of cards that are busy with as many sequences as they hold: that is when they are cheapest."""
    load = replace(question.load, sequences=most_sequences(shape, best, question.load))
    rate = best.card.usd_hour if question.usd_hour is None else question.usd_hour
    return reserved(best, speed(shape, best, load, _prompt(question)), question.mix, rate)


def _best(plans: tuple[Plan, ...], question: Question, format: str) -> Plan | None:
    """As the model is published, else smaller: on the card that was asked for, else on the cheapest set of those with
    a price, else on the fewest cards."""
    held = [each for each in plans if each.layout and question.gpu in (None, each.card.name)]
    for name in dict.fromkeys((format, "fp8", "int4")):
        able = [each for each in held if each.format.name == name]
        if able:
            return min(able, key=_dearness)
    return None


def _dearness(each: Plan) -> tuple[bool, float, int]:
    hourly = each.card.usd_hour
    cards = each.cards or 0
    return (hourly is None, (hourly or 0.0) * cards, cards)
