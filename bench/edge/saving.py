"""What hybrid routing saves on the held-out prompts, by the price book: the classifier's own mistakes included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluiceway.cost.arithmetic import NANOS_PER_USD, Tokens, cost
from sluiceway.domain.model import Price


@dataclass(frozen=True)
class Asked:
    """One prompt: what it is, where it was sent, and how many tokens it has."""

    label: str
    routed: str
    prompt_tokens: int


@dataclass(frozen=True)
class Saving:
    """US dollars for a million such requests; ``hard_to_small``: share of the complex that the small one got."""

    all_large: float
    routed: float
    perfect: float
    to_small: float
    hard_to_small: float
    easy_to_large: float

    @property
    def share(self) -> float:
        """Of what it costs without routing."""
        return 1 - self.routed / self.all_large


def saving(asked: Sequence[Asked], large: Price, small: Price, answers: dict[str, int]) -> Saving:
    """``answers``: completion tokens of an answer to a prompt, by its label; both models are taken to say as much."""

    def dollars(wants_small: Sequence[bool]) -> float:
        nanos = sum(
            cost(small if is_small else large, Tokens(one.prompt_tokens, answers[one.label]))
            for one, is_small in zip(asked, wants_small, strict=True)
        )
        return nanos / NANOS_PER_USD / len(asked) * 1_000_000

    def share(label: str, routed: str) -> float:
        of_label = [one for one in asked if one.label == label]
        return sum(one.routed == routed for one in of_label) / len(of_label)

    return Saving(
        all_large=dollars([False] * len(asked)),
        routed=dollars([one.routed == "simple" for one in asked]),
        perfect=dollars([one.label == "simple" for one in asked]),
        to_small=sum(one.routed == "simple" for one in asked) / len(asked),
        hard_to_small=share("complex", "simple"),
        easy_to_large=share("simple", "complex"),
    )
