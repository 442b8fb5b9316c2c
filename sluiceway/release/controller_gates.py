"""Gates by worker version from the stage's controller: the gates that its rollouts have, over every request.

Asking is what makes it count, and asking again goes on where the last runner stopped. Where it can't say, for a
gateway of before it could, the stage's log does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sluiceway.errors import SluicewayError
from sluiceway.release.gates import Reading, Window, WorkerGates
from sluiceway.rollouts.views import GateView, Ramp, read

PATH: Final = "/releases/ramp"
_REFUSALS: Final = 0.05
_ENOUGH: Final = 200
"""Requests of one version after which one that has told of none can't tell."""
_REASONS: Final = {
    "platform": "both versions fail alike, which no release explains",
    "stable-degraded": "the old version fails by itself",
    "suspect": "the new version fails, and too few requests of the old one say whether it is alone",
    "no-control": "the old version has no requests to compare with",
}

Json = dict[str, Any]
Send = Callable[[str, str, Json | None], Json]


@dataclass
class ControllerGates:
    """``send`` makes a call of the gateway's admin endpoints. ``margin`` is the excess rate that is borne; refusals,
    which people's prompts move most, have at least 0.05. ``latency_s``: a request that takes longer is bad.

    ``log`` opens the gates from the log; it is called at most once.
    """

    send: Send
    margin: float
    latency_s: float | None
    log: Callable[[], WorkerGates]
    source: str = "the stage's controller"
    _log: WorkerGates | None = field(default=None)

    def verdict(self, old: str, new: str, window: Window) -> Reading:
        order = {"old": old, "new": new, "since": _ms(window.ramp), "step": _ms(window.step), "gates": self._gates()}
        try:
            told = read(Ramp, self.send("POST", PATH, order).get("ramp"), "releases.ramp")
        except SluicewayError as fault:
            return self._by_log(old, new, window, fault.message)
        silent = _silent(told.gates)
        if silent is not None:
            return self._by_log(old, new, window, f"the {silent} version tells it nothing")
        return reading(told)

    def end(self) -> None:
        """Ends the counting; what went wrong is no matter, for it ends by itself in a day."""
        try:
            self.send("DELETE", PATH, None)
        except SluicewayError:
            return

    def _gates(self) -> list[Json]:
        margins = dict.fromkeys(("errors", "json", "empty", "guard"), self.margin)
        margins["refusals"] = max(self.margin, _REFUSALS)
        if self.latency_s is not None:
            margins["latency"] = self.margin
        slos = {"latency": self.latency_s}
        return [
            {"name": name, "margin": margin, "slo": slos.get(name), "mode": "enforce"}
            for name, margin in margins.items()
        ]

    def _by_log(self, old: str, new: str, window: Window, why: str) -> Reading:
        self._log = self._log or self.log()
        found = self._log.verdict(old, new, window)
        said = f"{found.reason} (from {self._log.source}: {why.rstrip('.')})"
        return Reading(found.verdict, said, found.gate, found.frozen)


def reading(told: Ramp) -> Reading:
    """The controller's verdict in words, by the figures of the gate that decided."""
    gate = next((found for found in told.gates if found.name == told.gate), None)
    if told.verdict == "pass":
        seen = [found for found in told.gates if found.candidate.requests]
        return Reading("pass", f"{', '.join(found.name for found in seen)} pass: {_figures(told.gates[0])}")
    name = told.gate or "a gate"
    figures = "" if gate is None else _figures(gate)
    if told.verdict == "fail":
        return Reading("fail", f"{name} fail: {figures}", told.gate)
    if told.reason in _REASONS:
        frozen = told.reason == "platform"
        return Reading("inconclusive", f"{name}: {_REASONS[told.reason]}", told.gate, frozen=frozen)
    return Reading("inconclusive", f"{name} can't be told yet: {figures}", told.gate)


def _silent(gates: tuple[GateView, ...]) -> str | None:
    """The version that has told of no request while the other has told of many."""
    old = max((gate.stable.requests for gate in gates), default=0)
    new = max((gate.candidate.requests for gate in gates), default=0)
    if old == 0 and new >= _ENOUGH:
        return "old"
    return "new" if new == 0 and old >= 10 * _ENOUGH else None


def _figures(gate: GateView) -> str:
    return (
        f"{gate.candidate.bad} of {gate.candidate.requests} requests of the new version were bad, "
        f"and {gate.stable.bad} of {gate.stable.requests} of the old one"
    )


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
