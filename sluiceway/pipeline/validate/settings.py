"""What a model is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

from sluiceway.errors import UserError

BATCHES: Final = ((1, 1), (1, 7), (2, 5), (3, 16))
QUALITY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "embed": ("min_cosine", "min_rank"),
        "classify": ("min_accuracy", "min_top1", "max_kl"),
        "chat": ("min_top1", "max_kl", "max_perplexity_rise"),
    }
)
"""The limits on quality that each task knows."""

DEFAULTS: Final[Mapping[str, tuple[str, float]]] = MappingProxyType(
    {"embed": ("min_cosine", 0.98), "classify": ("min_top1", 0.98), "chat": ("max_kl", 0.02)}
)
"""What is asked of quality when a recipe asks for nothing: a validation can't be without a limit."""


@dataclass(frozen=True)
class Settings:
    """``task``: embed, classify or chat. Limits that are None aren't asked for.

    ``max_perplexity_rise`` and ``max_size_share`` are shares of the float model's figure (0.05: five per cent more);
    ``max_kl`` is in nats a token; ``max_size_mb`` in 10^6 bytes; ``min_tokens_per_second`` on one thread here.
    ``longest``: tokens of a text that are read. ``rounds``: how often the speed of each model is taken; 0: never.
    """

    task: str
    min_cosine: float | None = None
    min_rank: float | None = None
    min_top1: float | None = None
    max_kl: float | None = None
    max_perplexity_rise: float | None = None
    min_accuracy: float | None = None
    max_size_mb: float | None = None
    max_size_share: float | None = None
    min_tokens_per_second: float | None = None
    batches: tuple[tuple[int, int], ...] = BATCHES
    longest: int = 256
    rounds: int = 3
    runs: int = 20

    @classmethod
    def of(cls, task: str, block: Mapping[str, Any]) -> Settings:
        """From the block `validate` of a recipe; keys that aren't a setting (the path of the data) are passed over."""
        known = {field.name for field in fields(cls)} - {"task"}
        said = {key: value for key, value in block.items() if key in known}
        if "batches" in said:
            said["batches"] = tuple((int(batch), int(length)) for batch, length in said["batches"])
        return cls(task, **said).checked()

    def checked(self) -> Settings:
        """These, with a limit on quality in any case. Raises UserError for a limit that the task has no figure for."""
        if self.task not in QUALITY:
            hint = f"a task is {', '.join(QUALITY)}"
            raise UserError("there is no validation for this task", path="task", got=self.task, hint=hint)
        known = QUALITY[self.task]
        for key in sorted({key for keys in QUALITY.values() for key in keys} - set(known)):
            if getattr(self, key) is not None:
                hint = f"for {self.task} it can be {', '.join(known)}"
                raise UserError(f"{key} has no meaning for the task {self.task}", path=f"validate.{key}", hint=hint)
        if any(getattr(self, key) is not None for key in known):
            return self
        key, value = DEFAULTS[self.task]
        return Settings(**{**{field.name: getattr(self, field.name) for field in fields(self)}, key: value})
