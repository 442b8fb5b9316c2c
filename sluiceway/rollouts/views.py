"""What a stage's gateway says of its rollouts: the shapes of ``worker/src/rollout/types.ts``, checked as they come in.

Times are milliseconds since the epoch, weights whole percent, rates shares in ``[0, 1]``. Fields that a newer gateway
adds are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from sluiceway.errors import SluicewayError

Millis = int | float
Split = tuple[tuple[int, int], ...]
Verdict = Literal["pass", "fail", "inconclusive"]

RUNNING: Final = frozenset({"checking", "stepping", "awaiting", "paused", "watching"})
"""The phases that end by themselves, or by a person."""


@dataclass(frozen=True)
class Step:
    """``weight`` is the candidate's share, ``hold_s`` the shortest time at it in seconds."""

    weight: int
    hold_s: float
    approval: bool
    margins: dict[str, float]


@dataclass(frozen=True)
class Arm:
    """Requests of one version since the rollout began, and the bad ones among them."""

    requests: int
    bad: int

    @property
    def rate(self) -> float | None:
        return self.bad / self.requests if self.requests else None


@dataclass(frozen=True)
class GateView:
    """One gate. ``difference`` is an interval for the candidate's bad share less stable's, valid at any time."""

    name: str
    mode: str
    margin: float
    slo: float | None
    verdict: Verdict
    reason: str | None
    stable: Arm
    candidate: Arm
    difference: tuple[float, float] | None
    failing: float
    passing: float


@dataclass(frozen=True)
class ArmReadout:
    """Of ``ab``: the gates of one arm."""

    version: int
    gates: tuple[GateView, ...]


@dataclass(frozen=True)
class VersionFigures:
    """One version. ``first_token`` and ``total``: requests by bucket, of those that did not fail. ``cost``: by slot of
    time, requests whose cost is known and what they cost in US dollars."""

    version: int
    requests: int
    first_token: tuple[int, ...]
    total: tuple[int, ...]
    cost: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Figures:
    """What a rollout's requests took and cost since it began. Bucket ``n`` begins at 2^(n / per_doubling) ms."""

    since: Millis
    slot_ms: Millis
    per_doubling: int
    versions: tuple[VersionFigures, ...]


@dataclass(frozen=True)
class RolloutView:
    """One model. ``until``: when the hold or the watch is over; None while no clock runs."""

    model: str
    phase: str
    paused_from: str | None
    strategy: str | None
    stable: int
    candidates: tuple[int, ...]
    weights: Split
    step: int | None
    steps: tuple[Step, ...]
    since: Millis
    until: Millis | None
    waiting: str
    platform: bool
    gates: tuple[GateView, ...]
    readout: tuple[ArmReadout, ...]
    held: bool
    spec_digest: str
    order: str
    revision: int
    release: str
    figures: Figures | None = None

    @property
    def running(self) -> bool:
        return self.phase in RUNNING

    @property
    def gates_by_arm(self) -> tuple[tuple[int, tuple[GateView, ...]], ...]:
        """The gates of each candidate: of ``ab`` those of the readout, else those of the one there is."""
        if self.readout:
            return tuple((arm.version, arm.gates) for arm in self.readout)
        return tuple((version, self.gates) for version in self.candidates[:1] if self.gates)


@dataclass(frozen=True)
class StageView:
    """All models of a stage. ``revision`` never goes back."""

    stage: str
    revision: int
    order: str
    release: str
    models: tuple[RolloutView, ...]


@dataclass(frozen=True)
class JournalEntry:
    """One transition, or one thing worth knowing. ``number`` is 1, 2, 3 in each stage."""

    number: int
    at: Millis
    model: str
    kind: str
    sentence: str
    phase: str
    weights: Split
    release: str
    cause: str
    gates: tuple[GateView, ...]


@dataclass(frozen=True)
class JournalPage:
    """Entries in their order; ``next`` is the ``after`` of the next page, None at the end."""

    entries: tuple[JournalEntry, ...]
    next: int | None


@dataclass(frozen=True)
class Ramp:
    """The gates of two worker versions: ``stable`` is the old one, ``candidate`` the new one.

    ``gate``: of a fail the one with the most evidence, else one that has not passed.
    """

    old: str
    new: str
    since: Millis
    step: Millis
    verdict: Verdict
    gate: str | None
    reason: str | None
    gates: tuple[GateView, ...]


Shape = TypeVar("Shape")


def read(shape: type[Shape], document: object, path: str) -> Shape:
    """``document`` as a ``shape``. Raises SluicewayError with the path of what is another than these shapes say."""
    try:
        found: Shape = _adapter(shape).validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join((path, *(str(part) for part in first["loc"])))
        raise SluicewayError(
            f"the gateway says it in another way than is known here: {first['msg']}",
            path=where,
            hint="the stage may run another Sluiceway than this one: `up` from this checkout, then try again",
        ) from error
    return found


def document(view: object) -> dict[str, Any]:
    """A view as plain JSON values, for ``--json``."""
    plain: dict[str, Any] = _adapter(type(view)).dump_python(view, mode="json")
    return plain


_ADAPTERS: Final[dict[type[Any], TypeAdapter[Any]]] = {}


def _adapter(shape: type[Any]) -> TypeAdapter[Any]:
    if shape not in _ADAPTERS:
        _ADAPTERS[shape] = TypeAdapter(shape)
    return _ADAPTERS[shape]
