"""What is allowed and probably not meant: a gate that can't pass, a budget that counts a model as free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sluiceway.catalog.checks import embedding, shown
from sluiceway.cost.book import PriceBook
from sluiceway.domain.model import Model
from sluiceway.domain.rollout import Gate, RolloutSpec, Step, least_to_pass
from sluiceway.planning.parts import ModelPlan
from sluiceway.planning.stage_plan import StagePlan
from sluiceway.planning.unfit import unfit

MANY: Final = 3_000
"""Requests of a candidate: a step that needs more to be left is probably not meant."""
_UNASKED: Final = ("golden", "probes")  # fed by no request of people's


@dataclass(frozen=True)
class Warned:
    """``path`` as in an error: the file, then where in it."""

    path: str
    message: str
    hint: str

    def render(self) -> str:
        return f"warning: {self.path}: {self.message}\nhint: {self.hint}"


def warnings(plan: StagePlan, source: str) -> tuple[Warned, ...]:
    """What to tell the person whose stack file ``source`` made ``plan``; empty when all is well."""
    root = f"{source}: config.sluiceway:"
    found = _unpriced(plan, root)
    for model in plan.models:
        found += _vectors(model, f"{root}models.{model.name}")
        found += _unfit(model, f"{root}models.{model.name}")
        if model.rollout:
            found += _rollout(model.rollout, f"{root}models.{model.name}.rollout")
    return tuple(found)


def needed(spec: RolloutSpec) -> str | None:
    """What a first step needs to be left, as a sentence; None when nothing is judged or nothing is promoted."""
    step = spec.steps[0] if spec.steps else None
    found = [(gate, least) for gate in _enforced(spec) if (least := _least(spec, gate, step))]
    if step is None or not found:
        return None
    gate, least = max(found, key=lambda one: one[1])
    share = min(step.weight, 100 - spec.control)
    return (
        f"at {step.weight} % {gate.name} needs at least {least:,} candidate requests at a margin of "
        f"{spec.margin(gate, step):g}, of {-(-least * 100 // share):,} in all"
    )


def _rollout(spec: RolloutSpec, path: str) -> list[Warned]:
    if not spec.steps:
        return []
    found = [_slow(spec, gate, at, path) for gate in _enforced(spec) for at in range(len(spec.steps))]
    warned = [one for one in found if one is not None]
    if all(gate.mode == "observe" for gate in spec.gates):
        message = "no gate is enforced, so the candidate is promoted by the clock alone"
        warned.append(Warned(f"{path}.gates", message, "let one gate at least have mode: enforce, like errors"))
    elif spec.control == 0:
        message = "at 100 % nothing of stable is left to compare with, so the last step can't pass"
        warned.append(Warned(f"{path}.control", message, "write 1 or more, or take it out for the usual 5"))
    return warned + _capped(spec, path)


def _capped(spec: RolloutSpec, path: str) -> list[Warned]:
    """Steps before the last one that ask for some of what the control keeps."""
    most = 100 - spec.control
    hint = f"write at most {most}, or a smaller control"
    return [
        Warned(
            f"{path}.steps[{at}].weight",
            f"the candidate gets {most} % in this step, as at 100: control keeps {spec.control} % with stable",
            hint,
        )
        for at, step in enumerate(spec.steps)
        if most < step.weight < 100
    ]


def _enforced(spec: RolloutSpec) -> list[Gate]:
    return [gate for gate in spec.gates if gate.mode == "enforce" and gate.name not in _UNASKED]


def _slow(spec: RolloutSpec, gate: Gate, at: int, path: str) -> Warned | None:
    """One warning for each place where a margin is written: the gate's, or a step's own."""
    step = spec.steps[at]
    own = gate.name in step.margins
    if at > 0 and not own:
        return None
    least = _least(spec, gate, step)
    place = f"{path}.steps[{at}].margins.{gate.name}" if own else f"{path}.gates.{gate.name}.margin"
    if least is None:
        message = f"{gate.name} can't pass at a margin of 0, however many requests there are"
        return Warned(place, message, "write a small margin, like 0.01, or mode: observe for the gate")
    if least > MANY:
        message = f"{gate.name} needs at least {least:,} candidate requests at this margin"
        return Warned(place, message, "write a larger margin, or leave it so if that many come in each step")
    return None


def _least(spec: RolloutSpec, gate: Gate, step: Step | None) -> int | None:
    return least_to_pass(spec.margin(gate, step), spec.beta, spec.min_pass)


def _vectors(model: ModelPlan, path: str) -> list[Warned]:
    """Two embedding models under one name: whoever keeps vectors gets some of each."""
    if model.task != "embed":
        return []
    served = [version for version in model.versions if version.number in model.split.versions]
    first = served[0]
    other = next((version for version in served if embedding(version) != embedding(first)), None)
    if other is None:
        return []
    message = f"vectors of {first.ref} ({shown(first)}) and {other.ref} ({shown(other)}) can't be compared"
    hint = "give the new one a model name of its own, and move whoever keeps vectors to it"
    return [Warned(f"{path}.{'rollout' if model.rollout else 'split'}", message, hint)]


def _unfit(model: ModelPlan, path: str) -> list[Warned]:
    told = [unfit(model.task, version) for version in model.versions if version.number in model.split.versions]
    return [Warned(f"{path}.{'rollout' if model.rollout else 'split'}", *each) for each in told if each]


def _unpriced(plan: StagePlan, root: str) -> list[Warned]:
    if not plan.policies.budgets.limits:
        return []
    return [
        Warned(
            f"{root}budgets",
            f"{ref} has no price, so every budget counts it as free",
            f"add price: to it in models/{ref.model}.yaml, with the US dollars for a million tokens",
        )
        for ref in PriceBook.of(_billed(model) for model in plan.models).unpriced
    ]


def _billed(model: ModelPlan) -> Model:
    """The model without what runs in the stage itself, where no token costs anything."""
    versions = tuple(version for version in model.versions if version.backend != "onnx")
    return Model(model.name, model.task, model.default, versions)
