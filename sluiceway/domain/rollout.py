"""How traffic comes from a stable version to a candidate: what git declares of one rollout, every field decided.

The Worker reads the same from config.json; ``tests/contract/rollout.json`` holds both to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import ceil, log, log1p
from typing import Final, Literal, cast, get_args

from sluiceway.domain import rollout_rules as rules
from sluiceway.domain.duration import shown
from sluiceway.domain.release import Json
from sluiceway.domain.split import Split

Strategy = Literal["canary", "blue-green", "ab", "shadow"]
Reaction = Literal["rollback", "hold"]
GateName = Literal[
    "errors",
    "first_token",
    "latency",
    "speed",
    "json",
    "empty",
    "refusals",
    "guard",
    "feedback",
    "cost",
    "probes",
    "golden",
]
GATES: Final[tuple[GateName, ...]] = get_args(GateName)
"""In the order in which they are listed everywhere."""


@dataclass(frozen=True)
class Gate:
    """A limit on a rate of bad requests.

    ``margin``: how much larger a share of the candidate's than of stable's may be bad, in [0, 1). ``slo``: seconds
    (first_token, latency), tokens a second (speed), US dollars a request (cost). ``observe`` moves nothing.
    """

    name: GateName
    margin: float
    slo: float | None
    mode: Literal["enforce", "observe"]


@dataclass(frozen=True)
class Step:
    """The candidate's share in whole percent, and the shortest time at it in seconds."""

    weight: int
    hold_s: int
    approval: bool
    margins: Mapping[GateName, float]


@dataclass(frozen=True)
class Probes:
    """A golden prompt goes to stable and to each candidate every ``every_s`` seconds, for at most ``usd`` an hour."""

    every_s: int
    usd: float


@dataclass(frozen=True)
class RolloutSpec:
    """``models.<name>.rollout`` of config.json, field for field. Versions by number, shares in whole percent.

    A Fault, with its place, when weights don't rise, arms leave nothing to stable, or stable is a candidate too.
    """

    strategy: Strategy
    stable: int
    candidates: tuple[int, ...]
    arms: tuple[int, ...]
    steps: tuple[Step, ...]
    gates: tuple[Gate, ...]
    alpha: float
    beta: float
    min_fail: int
    min_bad: int
    min_pass: int
    absolute: float
    control: int
    checks: tuple[Literal["golden"], ...]
    watch_s: int
    warm_s: int
    on_fail: Reaction
    no_control: Reaction
    grace_s: int
    mirror: int
    attempt: int
    probes: Probes | None = None

    def __post_init__(self) -> None:
        rules.different(self.stable, self.candidates, self.strategy)
        rules.rising([step.weight for step in self.steps])
        rules.room_for_stable(self.arms)

    def split(self) -> Split:
        """What serves if nothing else is known: stable alone, and of ``ab`` the arms as declared."""
        weights = self.arms or (0,) * len(self.candidates)
        return Split(((self.stable, 100 - sum(weights)), *zip(self.candidates, weights, strict=True)))

    def shortest_s(self) -> int:
        """Seconds from the first step to the promotion when all goes well and nobody is waited for."""
        return sum(step.hold_s for step in self.steps)

    def margin(self, gate: Gate, step: Step | None) -> float:
        """What holds at ``step``."""
        return gate.margin if step is None else step.margins.get(gate.name, gate.margin)

    def document(self) -> dict[str, Json]:
        """As config.json has it. Probes are named only where there are some: what runs must stay what it was."""
        plain = cast("dict[str, Json]", _plain(self))
        return {name: value for name, value in plain.items() if name != "probes" or value is not None}

    def sentence(self, model: str) -> str:
        """What it means, for people: ``chat: chat@1 -> chat@2 by canary 1, 10, 50, 100 %, at least 2 h``."""
        again = f"; attempt {self.attempt}" if self.attempt > 1 else ""
        probed = f"; a probe of each every {shown(self.probes.every_s)}" if self.probes else ""
        return f"{model}: {_way(self, model)}{probed}{again}"


def least_to_pass(margin: float, beta: float, min_pass: int) -> int | None:
    """How many requests of the candidate a pass takes at the very least, all of them good.

    ``beta`` is the chance of a false pass. None when no number is enough: a margin of 0 is never shown to be kept.
    No test needs fewer; the one in the Worker needs up to half as many again.
    """
    if margin <= 0:
        return None
    return max(min_pass, ceil(log(1 / beta) / -log1p(-margin)))


def _way(spec: RolloutSpec, model: str) -> str:
    versions = [f"{model}@{number}" for number in spec.candidates]
    if spec.strategy == "ab":
        shares = ", ".join(f"{model}@{number} {weight} %" for number, weight in spec.split().weights)
        return f"ab of {shares}, until git changes it"
    if spec.strategy == "shadow":
        mirrored = f"{spec.mirror} % of the requests of {model}@{spec.stable} go to {versions[0]} too"
        return f"shadow: {mirrored}, and its answers to nobody"
    weights = f" {', '.join(str(step.weight) for step in spec.steps)} %" if spec.strategy == "canary" else ""
    checked = f"after {' and '.join(spec.checks)}, " if spec.checks else ""
    asked = [str(step.weight) for step in spec.steps if step.approval]
    waits = f", and a person's yes at {', '.join(asked)} %" if asked else ""
    least = f"{checked}at least {shown(spec.shortest_s())}{waits}"
    return f"{model}@{spec.stable} -> {versions[0]} by {spec.strategy}{weights}, {least}"


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
