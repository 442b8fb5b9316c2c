"""What the runs on a stage say, as a table and against the goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any

from bench.rollout.load import Asked
from bench.rollout.report import Goal

FOLLOWS_S = 2.0
MOST_REQUESTS = {"fails-20": 60, "fails-100": 15}


@dataclass(frozen=True)
class Run:
    """One candidate that goes wrong.

    ``named``: the gate of the verdict, None where none came. ``requests``: of candidate's that were asked until then;
    ``counted``: those that its gates had counted. ``last_asked_s``, ``last_answer_s``: from the verdict to the last
    request that went to the candidate, and to its answer; 0 where none came after it. ``unanswered`` of ``asked``.
    ``broken``: what broke it off, if anything did.
    """

    kind: str
    gate: str
    named: str | None
    requests: int
    counted: int
    last_asked_s: float
    last_answer_s: float
    asked: int
    unanswered: int
    broken: str | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        gate: str,
        entry: Mapping[str, Any] | None,
        asked: Sequence[Asked],
        broken: str | None = None,
    ) -> Run:
        verdict = inf if entry is None else float(entry["at"])
        own = [each for each in asked if each.candidate]
        gates = [] if entry is None else entry["gates"]
        return cls(
            kind=kind,
            gate=gate,
            named=None if entry is None else str(entry["cause"]).removeprefix("gate:"),
            requests=sum(each.at <= verdict for each in own),
            counted=max((each["candidate"]["requests"] for each in gates), default=0),
            last_asked_s=_after(verdict, [each.at for each in own]),
            last_answer_s=_after(verdict, [each.ended for each in own]),
            asked=len(asked),
            unanswered=sum(each.status != 200 for each in asked),
            broken=broken,
        )

    def told(self) -> str:
        if self.broken is not None:
            return f"{self.kind:14} broke off, after {self.asked} requests: {self.broken}"
        verdict = "was not rolled back" if self.named is None else f"rolled back by {self.named}"
        return (
            f"{self.kind:14} {verdict:26} after {self.requests:4} requests ({self.counted} counted),"
            f" last asked {self.last_asked_s:.2f} s and answered {self.last_answer_s:.2f} s later,"
            f" {self.unanswered} of {self.asked} unanswered"
        )


def table(runs: Sequence[Run]) -> list[str]:
    lines = ["on a local stage, at 5 % of the traffic: candidate's requests and seconds, medians (and the most)"]
    head = ("kind", "runs", "named", "requests", "last asked", "last answer")
    lines.append("  {:14} {:>5} {:>16} {:>14} {:>16} {:>16}".format(*head))
    for kind, own in _by_kind(runs).items():
        named = ", ".join(sorted({str(run.named) for run in own}))
        figures = [
            _figures([_requests(run) for run in own], ".0f"),
            _figures([run.last_asked_s for run in own], ".2f"),
            _figures([run.last_answer_s for run in own], ".2f"),
        ]
        lines.append("  {:14} {:>5} {:>16} {:>14} {:>16} {:>16}".format(kind, len(own), named, *figures))
    return lines


def medians(runs: Sequence[Run]) -> dict[str, dict[str, float | int | None]]:
    """Of each kind: its runs, those that its own gate ended, and medians (None: half of them came to no verdict)."""
    found: dict[str, dict[str, float | int | None]] = {}
    for kind, own in _by_kind(runs).items():
        requests = median(_requests(run) for run in own)
        found[kind] = {
            "runs": len(own),
            "named": sum(run.named == run.gate for run in own),
            "broken": sum(run.broken is not None for run in own),
            "requests": None if requests == inf else requests,
            "last_asked_s": median(run.last_asked_s for run in own),
            "last_answer_s": median(run.last_answer_s for run in own),
        }
    return found


def goals(runs: Sequence[Run]) -> list[Goal]:
    """Each goal with what was seen. A run without a verdict keeps none of them."""
    found: list[Goal] = []
    for kind, own in _by_kind(runs).items():
        if kind in MOST_REQUESTS:
            most, seen = MOST_REQUESTS[kind], median(_requests(run) for run in own)
            goal = f"live, {kind}: rolled back after at most {most} of its requests in the median"
            found.append({"goal": goal, "seen": f"{seen:.0f}", "holds": seen <= most})
        right = sum(run.named == run.gate for run in own)
        goal = f"live, {kind}: its own gate is named, {own[0].gate}"
        found.append({"goal": goal, "seen": f"{right} of {len(own)}", "holds": right == len(own)})
    latest = max((run.last_asked_s if run.named else inf for run in runs), default=inf)
    goal = f"live: nobody who asks later than {FOLLOWS_S:.0f} s after the verdict gets the candidate"
    found.append({"goal": goal, "seen": f"{latest:.2f} s", "holds": latest <= FOLLOWS_S})
    lost = sum(run.unanswered for run in runs)
    total = sum(run.asked for run in runs)
    found.append({"goal": "live: everybody is answered", "seen": f"{total - lost} of {total}", "holds": lost == 0})
    return found


def _after(verdict: float, times: Sequence[float]) -> float:
    """Seconds from the verdict to the last of some times."""
    return max((max(0.0, at - verdict) / 1000 for at in times), default=0.0)


def _requests(run: Run) -> float:
    return inf if run.named is None else run.requests


def _by_kind(runs: Sequence[Run]) -> dict[str, list[Run]]:
    return {kind: [run for run in runs if run.kind == kind] for kind in dict.fromkeys(run.kind for run in runs)}


def _figures(values: Sequence[float], form: str) -> str:
    return f"{median(values):{form}} ({max(values):{form}})"
