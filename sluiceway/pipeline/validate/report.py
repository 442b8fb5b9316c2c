"""What a validation found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.validate.cpu import Cpu
from sluiceway.pipeline.validate.verdict import Finding


class QualityFailed(SluicewayError):
    """The model doesn't hold what its recipe asks for; nothing is published."""

    exit_code = 3


@dataclass(frozen=True)
class Speed:
    """One thread, warm. Times are milliseconds of one run over one row (of one new token, with a cache).

    ``tokens_per_second`` counts processor seconds, so that neighbours on the machine weigh less; ``peak_mb`` is the
    process at its largest, ``loaded_mb`` before the first run: 10^6 bytes, None where the system doesn't say.
    """

    tokens_per_second: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    runs: int
    decode_tokens_per_second: float | None = None
    loaded_mb: float | None = None
    peak_mb: float | None = None

    def document(self) -> dict[str, Any]:
        return {key: _plain(value) for key, value in self.__dict__.items()}


@dataclass(frozen=True)
class Report:
    """``figures`` by name (docs/models.md says which); ``faults`` and ``unlike``
    (sizes at which it answers otherwise) fail whatever the limits are.

    ``verdict`` is pass or fail.
    """

    task: str
    figures: Mapping[str, float]
    findings: tuple[Finding, ...]
    faults: tuple[str, ...]
    unlike: tuple[str, ...]
    cpu: Cpu
    speed: Speed | None = None
    reference_speed: Speed | None = None

    @property
    def verdict(self) -> str:
        return "fail" if self.faults or self.unlike or not all(finding.passes for finding in self.findings) else "pass"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it fails: what can't be right, each limit with its numbers, then sizes that answer otherwise."""
        return (*self.faults, *(str(finding) for finding in self.findings if not finding.passes), *self.unlike)

    def require(self, path: str) -> Report:
        """This report, when it passes. Raises QualityFailed with the first reason, and the others as its hint."""
        if self.verdict == "pass":
            return self
        first, *others = self.reasons
        raise QualityFailed(first, path=path, hint="; ".join(others) or "try another pass, or a finer block")

    def document(self) -> dict[str, Any]:
        """Plain JSON; a figure that isn't a number is null there, and its reason says so."""
        return {
            "task": self.task,
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "figures": {name: _plain(value) for name, value in self.figures.items()},
            "limits": [
                {"name": found.name, "value": _plain(found.value), "limit": found.limit, "passes": found.passes}
                for found in self.findings
            ],
            "speed": self.speed.document() if self.speed else None,
            "reference_speed": self.reference_speed.document() if self.reference_speed else None,
            "cpu": self.cpu.document(),
        }


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Six digits are more than any of these figures has."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None
