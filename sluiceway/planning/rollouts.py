"""What a rollout leaves unsaid, decided. The figures of the gates were measured by simulation: bench/rollout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from sluiceway.domain.duration import HOUR, MINUTE
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import Task, parse_ref
from sluiceway.domain.rollout import GATES, Gate, GateName, Probes, RolloutSpec, Step
from sluiceway.errors import UserError
from sluiceway.planning.parts import ModelPlan
from sluiceway.planning.pick import pick
from sluiceway.planning.policy_parts import Rollouts
from sluiceway.settings.model import Settings
from sluiceway.settings.rollouts import GateSettings, RolloutSettings, StepSettings

MARGINS: Final[dict[GateName, float]] = {
    "errors": 0.02,
    "first_token": 0.05,
    "latency": 0.05,
    "speed": 0.05,
    "json": 0.02,
    "empty": 0.02,
    "refusals": 0.05,
    "guard": 0.02,
    "feedback": 0.05,
    "cost": 0.05,
    "probes": 0.05,
    "golden": 0.05,
}
SLOS: Final[dict[GateName, float]] = {"first_token": 5.0, "latency": 60.0}
USUAL: Final[tuple[GateName, ...]] = ("errors", "first_token", "latency", "json", "empty", "refusals", "guard")
"""The gates of a rollout that names none."""
OF_CHAT: Final[tuple[GateName, ...]] = ("first_token", "speed", "json", "refusals")
"""What no other task's answers have: such a gate would never be given a request, so would never pass."""
WEIGHTS: Final = (1, 10, 50, 100)
HOLD: Final = 30 * MINUTE
# Once the candidate has the rest, evidence comes as fast as stable's requests do: 1 % would take five times as long.
CONTROL: Final = 5
MIRROR: Final = 10
EVERY_S: Final = 30
PROBES_USD: Final = 0.1
"""What probes may cost in an hour."""


def rollout(stated: RolloutSettings, task: Task, path: str) -> RolloutSpec:
    """The whole of a rollout of a model of ``task``. UserError, below ``path``, for what can't be of such a model."""
    moving = stated.strategy in ("canary", "blue-green")
    arms = stated.arms or ()
    candidates = (stated.candidate,) if stated.candidate else tuple(arm.version for arm in arms)
    try:
        gates = _gates(stated, task)
        return RolloutSpec(
            strategy=stated.strategy,
            stable=parse_ref(stated.stable).number,
            candidates=tuple(parse_ref(version).number for version in candidates),
            arms=tuple(arm.weight for arm in arms),
            steps=_steps(stated, gates) if moving else (),
            gates=gates,
            alpha=pick(stated.alpha, 0.01),
            beta=pick(stated.beta, 0.05),
            min_fail=pick(stated.min_fail, 10),
            min_bad=pick(stated.min_bad, 3),
            min_pass=pick(stated.min_pass, 50),
            absolute=pick(stated.absolute, 0.2),
            control=pick(stated.control, CONTROL) if moving else 0,
            checks=pick(stated.checks, ()),
            watch_s=pick(stated.watch, HOUR) if moving else 0,
            warm_s=pick(stated.warm, HOUR) if stated.strategy == "blue-green" else 0,
            on_fail=pick(stated.on_fail, "rollback"),
            no_control=pick(stated.no_control, "hold"),
            grace_s=pick(stated.grace, 10 * MINUTE),
            mirror=pick(stated.mirror, MIRROR) if stated.strategy == "shadow" else 0,
            attempt=pick(stated.attempt, 1),
            probes=_probes(stated, task),
        )
    except Fault as fault:
        raise UserError(fault.message, path=f"{path}{fault.at}", hint=fault.hint) from None


def probes(
    model: ModelPlan, golden: Mapping[str, Sequence[Mapping[str, Any]]] | None, path: str
) -> tuple[Mapping[str, Any], ...]:
    """What a model's probes ask; nothing where its rollout sends none. UserError where there is nothing to ask."""
    if model.rollout is None or model.rollout.probes is None or golden is None:
        return ()
    found = tuple(golden.get(model.name, ()))
    if not found:
        hint = f"write some into models/golden/{model.name}.jsonl, or take probes out"
        raise UserError(f"{model.name} has no golden prompts to ask", path=path, hint=hint)
    return found


def told(settings: Settings, secrets: tuple[str, ...]) -> Rollouts | None:
    """Who is told of transitions. UserError when the secret with the address isn't bound."""
    stated = settings.rollouts
    if stated is None:
        return None
    if stated.webhook not in secrets:
        secret = stated.webhook
        hint = f"add {secret} to sluiceway:secrets, and its value by: sluiceway secrets set {settings.stage} {secret}"
        path = f"{settings.source}: config.sluiceway:rollouts.webhook"
        raise UserError("names a secret that the Worker isn't given", path=path, got=secret, hint=hint)
    return Rollouts(stated.webhook, pick(stated.format, "json"))


def _gates(stated: RolloutSettings, task: Task) -> tuple[Gate, ...]:
    found = []
    for name in GATES:
        unfit = task != "chat" and name in OF_CHAT
        is_on = stated.probes is not None if name == "probes" else name in USUAL and not unfit
        if name not in stated.gates and not is_on:
            continue
        said = stated.gates.get(name, GateSettings())
        if said.mode == "off":
            continue
        if unfit:
            hint = f'take it out, or write {name}: "off": only the answers of a chat model have it'
            raise Fault(f"a model of task {task} is never judged by {name}", hint=hint, at=f".gates.{name}")
        slo = SLOS.get(name) if said.slo is None else said.slo
        found.append(Gate(name, pick(said.margin, MARGINS[name]), slo, pick(said.mode, "enforce")))
    return tuple(found)


def _probes(stated: RolloutSettings, task: Task) -> Probes | None:
    if stated.probes is None:
        return None
    if task != "chat":
        hint = "take probes out: golden prompts are for models of task chat"
        raise Fault(f"a model of task {task} answers no prompts", hint=hint, at=".probes")
    return Probes(pick(stated.probes.every, EVERY_S), pick(stated.probes.cost, PROBES_USD))


def _steps(stated: RolloutSettings, gates: tuple[Gate, ...]) -> tuple[Step, ...]:
    if stated.steps is None:
        weights = WEIGHTS if stated.strategy == "canary" else (100,)
        return tuple(Step(weight, HOLD, approval=False, margins=MappingProxyType({})) for weight in weights)
    steps = tuple(_step(at, step, gates) for at, step in enumerate(stated.steps))
    last = steps[-1]
    if last.weight == 100:
        return steps
    # All of it is judged as well before the candidate is promoted, for as long as the last that was stated.
    return (*steps, Step(100, last.hold_s, approval=False, margins=MappingProxyType({})))


def _step(at: int, stated: StepSettings, gates: tuple[Gate, ...]) -> Step:
    on = [gate.name for gate in gates]
    for name in stated.margins:
        if name not in on:
            hint = f"name one of {', '.join(on) or 'no gate'}, or add {name} to gates"
            raise Fault(f"this rollout has no gate {name}", hint=hint, at=f".steps[{at}].margins.{name}")
    margins = {name: stated.margins[name] for name in GATES if name in stated.margins}
    return Step(stated.weight, pick(stated.hold, HOLD), pick(stated.approval, False), MappingProxyType(margins))
