"""Figures against limits. A figure that isn't a number fails: a test asks whether it is right, never if it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sluiceway.pipeline.validate.settings import Settings

MOST_OFFSET: Final = 1.0
MOST_LENGTH_DRIFT: Final = 0.1
PROTOBUF_MB: Final = 2147.0

LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "min_cosine": ("cosine_min", "minimum cosine"),
    "min_rank": ("rank", "rank correlation"),
    "min_top1": ("top1", "top-1 agreement"),
    "max_kl": ("kl", "KL divergence"),
    "max_perplexity_rise": ("perplexity_rise", "rise of perplexity"),
    "min_accuracy": ("accuracy", "accuracy"),
    "max_size_mb": ("size_mb", "size in MB"),
    "max_size_share": ("size_share", "share of the float size"),
    "min_tokens_per_second": ("tokens_per_second", "tokens a second"),
}
"""A limit -> the figure that it is about, and what people call it."""


@dataclass(frozen=True)
class Finding:
    """One figure against one limit. ``least``: whether the limit is the least (or the most) that is allowed.

    ``value`` is None where the figure could not be taken, which fails.
    """

    name: str
    called: str
    value: float | None
    limit: float
    least: bool

    @property
    def passes(self) -> bool:
        if self.value is None:
            return False
        return self.value >= self.limit if self.least else self.value <= self.limit

    def __str__(self) -> str:
        word = "at least" if self.least else "at most"
        if self.value is None:
            return f"{self.called} could not be taken, {word} {self.limit:g} is asked for"
        value = "is no number" if self.value != self.value else f"{self.value:.3g}"
        if value == f"{self.limit:g}" and not self.passes:
            value = f"{self.value:.6g}"  # else the sentence would contradict itself
        return f"{self.called} {value}, {word} {self.limit:g} is asked for"


def judge(figures: Mapping[str, float], settings: Settings) -> tuple[Finding, ...]:
    """The limits that were asked for, and those that always hold, in the order that people read them."""
    asked = [
        Finding(key, called, figures.get(figure), float(limit), key.startswith("min_"))
        for key, (figure, called) in LIMITS.items()
        if (limit := getattr(settings, key)) is not None
    ]
    return (*asked, *_always(figures, settings))


def _always(figures: Mapping[str, float], settings: Settings) -> list[Finding]:
    closest = settings.min_cosine if settings.min_cosine is not None else 0.98
    divergence = settings.max_kl if settings.max_kl is not None else 0.02
    rules = (
        ("offset", "shift of all logits in standard deviations", MOST_OFFSET, False),
        ("length_drift", "change of an embedding's length", MOST_LENGTH_DRIFT, False),
        ("padded_cosine", "cosine of a padded row to itself alone", closest, True),
        ("padded_kl", "KL divergence of a padded row from itself alone", divergence, False),
        ("cached_kl", "KL divergence of a row with a cache from itself in one call", divergence, False),
        ("graph_mb", "model.onnx in MB, for a protobuf ends at 2 GB:", PROTOBUF_MB, False),
    )
    return [
        Finding(name, called, figures[name], limit, least) for name, called, limit, least in rules if name in figures
    ]
