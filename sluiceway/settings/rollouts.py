"""A model's rollout, as a stack file may state it. Times like ``10m``; planning decides what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sluiceway.domain import rollout_rules as rules
from sluiceway.domain.duration import seconds
from sluiceway.domain.fault import Fault
from sluiceway.domain.rollout import GATES, Reaction, Strategy
from sluiceway.domain.stage import nearest
from sluiceway.settings.fields import Block, Listed, Rows, SecretName, VersionRef, frozen_mapping

Duration = Annotated[int, BeforeValidator(seconds), Field(description="a time like 30s, 10m, 2h or 1d")]
Version = Annotated[VersionRef, Field(description="a version of the model, like chat@1")]
Margin = Annotated[float, Field(ge=0, le=0.99, strict=False)]
Chance = Annotated[float, Field(ge=0.000_001, le=0.5, strict=False)]
Requests = Annotated[int, Field(ge=1, le=1_000_000)]

UNITS: Final = {
    "first_token": "seconds",
    "latency": "seconds",
    "speed": "tokens a second",
    "cost": "US dollars a request",
}
"""The gates that have an ``slo``, and what it is in."""
LEAST_EVERY_S: Final = 5
_NO_USUAL_SLO: Final = ("speed", "cost")


def _gate_name(name: str) -> str:
    if name not in GATES:
        near = nearest(name, GATES)
        hint = f"did you mean {near}?" if near else f"known gates: {', '.join(GATES)}"
        raise Fault("there is no gate of this name", got=name, hint=hint)
    return name


def _off(value: object) -> object:
    if value == "off":
        return {"mode": "off"}
    if isinstance(value, str):
        hint = 'write "off" in quotes, or a mapping with keys of margin, slo, mode'
        raise Fault("a gate is a mapping, or off", got=value, hint=hint)
    return value


GateKey = Annotated[str, AfterValidator(_gate_name)]


class GateSettings(Block):
    """``margin``: how much larger a share of the candidate's requests than of stable's may be bad.

    ``slo``: over which a request is bad (of speed: under which), in seconds, tokens a second or US dollars.
    """

    margin: Margin | None = None
    slo: Annotated[float, Field(ge=0.000_001, le=1_000_000, strict=False)] | None = None
    mode: Literal["enforce", "observe", "off"] | None = None


class StepSettings(Block):
    """``approval``: a person must say yes before the step is left. ``margins``: what holds in this step alone."""

    weight: Annotated[int, Field(ge=1, le=100)]
    hold: Duration | None = None
    approval: bool | None = None
    margins: Annotated[Mapping[GateKey, Margin], AfterValidator(frozen_mapping)] = Field(default_factory=dict)


class ArmSettings(Block):
    """One version of an ab rollout, and its fixed share in whole percent."""

    version: Version
    weight: Annotated[int, Field(ge=1, le=99)]


class ProbeSettings(Block):
    """Golden prompts that nobody asked, for a step with too little traffic. ``cost``: US dollars an hour at most."""

    every: Duration | None = None
    set: Literal["golden"] | None = None
    cost: Annotated[float, Field(ge=0.000_001, le=10_000, strict=False)] | None = None


class RolloutSettings(Block):
    """``checks``: what must be reported on the candidate at 0 % before the first step. ``attempt``: raised to try
    once more what has failed. ``mirror`` and ``control`` are shares in whole percent."""

    strategy: Strategy
    stable: Version
    candidate: Version | None = None
    arms: Rows[ArmSettings] | None = None
    steps: Rows[StepSettings] | None = None
    gates: Annotated[
        Mapping[GateKey, Annotated[GateSettings, BeforeValidator(_off)]], AfterValidator(frozen_mapping)
    ] = Field(default_factory=dict)
    checks: Listed[Literal["golden"]] | None = None
    watch: Duration | None = None
    warm: Duration | None = None
    control: Annotated[int, Field(ge=0, le=50)] | None = None
    on_fail: Reaction | None = None
    no_control: Reaction | None = None
    grace: Duration | None = None
    mirror: Annotated[int, Field(ge=1, le=100)] | None = None
    probes: ProbeSettings | None = None
    attempt: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    alpha: Chance | None = None
    beta: Chance | None = None
    min_fail: Requests | None = None
    min_bad: Requests | None = None
    min_pass: Requests | None = None
    absolute: Annotated[float, Field(ge=0.01, le=0.9, strict=False)] | None = None

    @model_validator(mode="after")
    def _whole(self) -> RolloutSettings:
        _keys(self)
        candidates = [version for _, version in self.named()[1:]]
        rules.different(self.stable, candidates, self.strategy)
        _steps(self)
        rules.room_for_stable([arm.weight for arm in self.arms or ()])
        for name, gate in self.gates.items():
            _slo(name, gate)
        _probes(self)
        if self.grace is not None and self.no_control != "rollback":
            hint = "write no_control: rollback beside it, or take grace out"
            raise Fault("counts only where a breach without a control rolls back", hint=hint, at=".grace")
        return self

    def named(self) -> tuple[tuple[str, str], ...]:
        """The versions that it names, each with its place in the rollout: stable first."""
        found = [("stable", self.stable)]
        if self.candidate is not None:
            found.append(("candidate", self.candidate))
        found += [(f"arms[{at}].version", arm.version) for at, arm in enumerate(self.arms or ())]
        return tuple(found)


class RolloutsSettings(Block):
    """Who is told of each transition. ``webhook``: name of the secret that holds the address."""

    webhook: SecretName
    format: Literal["json", "slack"] | None = None


_CANDIDATE: Final = ("canary", "blue-green", "shadow")
_MOVING: Final = ("canary", "blue-green")
_KEYS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "candidate": (_CANDIDATE, "its versions are its arms"),
    "arms": (("ab",), "it has one candidate"),
    "steps": (_MOVING, "its weights stay as they are"),
    "checks": (_MOVING, "nothing is promoted that could be checked before"),
    "watch": (_MOVING, "nothing is promoted that could be watched"),
    "control": (_MOVING, "stable keeps its share all the time"),
    "warm": (("blue-green",), "stable is not left all at once"),
    "mirror": (("shadow",), "the candidate's answers are given to callers"),
}
"""Keys that not every strategy has, which have them, and why another hasn't."""


def _keys(stated: RolloutSettings) -> None:
    strategy = stated.strategy
    for key, (strategies, why) in _KEYS.items():
        if strategy not in strategies and getattr(stated, key) is not None:
            hint = f"take {key} out ({why}), or choose another strategy: {', '.join(strategies)}"
            raise Fault(f"is no key of strategy {strategy}", hint=hint, at=f".{key}")
    if strategy == "ab" and not stated.arms:
        hint = "add arms: with a version and its weight in each entry; stable has the rest"
        raise Fault("an ab rollout has at least one arm beside stable", hint=hint, at=".arms")
    if strategy in _CANDIDATE and stated.candidate is None:
        hint = "add candidate: with the version that is to be tried, like chat@2"
        raise Fault("is required", hint=hint, at=".candidate")


def _steps(stated: RolloutSettings) -> None:
    if stated.steps is None:
        return
    if not stated.steps:
        hint = "add one, or take steps out for the usual ones"
        raise Fault("a rollout has at least one step", hint=hint, at=".steps")
    weights = [step.weight for step in stated.steps]
    if stated.strategy == "blue-green" and weights != [100]:
        hint = "keep one step of weight 100, or write strategy: canary"
        raise Fault("a blue-green rollout has one step, to 100", got=weights, hint=hint, at=".steps")
    rules.rising(weights)


def _probes(stated: RolloutSettings) -> None:
    gate = stated.gates.get("probes")
    if stated.probes is None:
        if gate is not None:
            hint = "add probes: {every: 30s} beside gates, or take the gate out"
            raise Fault("is fed by probes alone, and none are sent", hint=hint, at=".gates.probes")
        return
    if gate is not None and gate.mode == "off":
        hint = "take probes out instead"
        raise Fault("probes are sent for their gate alone", got="off", hint=hint, at=".gates.probes")
    if stated.probes.every is not None and stated.probes.every < LEAST_EVERY_S:
        hint = f"write {LEAST_EVERY_S}s or more: probes are for where there is little traffic, not load of their own"
        raise Fault("is too often", got=stated.probes.every, hint=hint, at=".probes.every")


def _slo(name: str, gate: GateSettings) -> None:
    if gate.mode == "off":
        return
    if gate.slo is not None and name not in UNITS:
        hint = f"take slo out; gates with one are {', '.join(UNITS)}"
        raise Fault(f"the gate {name} has no slo", got=gate.slo, hint=hint, at=f".gates.{name}.slo")
    if gate.slo is None and name in _NO_USUAL_SLO:
        side = "under" if name == "speed" else "over"
        hint = f"add slo: the {UNITS[name]} {side} which a request is bad"
        raise Fault(f"the gate {name} needs one, since no figure fits all models", hint=hint, at=f".gates.{name}.slo")
