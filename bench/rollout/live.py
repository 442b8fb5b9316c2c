"""Candidates that go wrong on a local stage under load: how soon they are rolled back, by which gate, and who notices.

Each run has a model of its own, with a rollout that nobody has asked yet: one `up` for several runs, where raising
`attempt` would be one for each. `attempt` is raised where there are more runs than places.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bench.rollout.live_report import Run
from bench.rollout.load import PATIENCE_S, Crowd, Gateway, bring_up, settle
from sluiceway.errors import SluicewayError
from sluiceway.local.faults import client as faults
from sluiceway.progress import human_seconds
from tests.e2e.checkout import Checkout, make_checkout

PLACES = 3
"""Models of each kind: more of them make what the controller keeps larger than any stage's."""
MOST_S = 240.0
_CANDIDATE, _OTHER = "@cf/moonshotai/kimi-k2.6", "@cf/moonshotai/kimi-k2.7-code"
_ENOUGH, _TOO_MUCH = 0.01, 0.0001  # US dollars: over what either asks, and between the prices of the two


@dataclass(frozen=True)
class Kind:
    """One way of going wrong: the fault of candidate's model, and the gate that must say so."""

    name: str
    gate: str
    fault: dict[str, Any] | None
    tools: bool = False
    cost_slo: float = _ENOUGH
    backend: str = _CANDIDATE


KINDS = (
    Kind("fails-20", "errors", {"status": 500, "share": 0.2}),
    # What fails always is left alone by the gateway for a while: a backend of its own, so that nobody waits for that.
    Kind("fails-100", "errors", {"status": 500}, backend=_OTHER),
    Kind("slower", "latency", {"delay_ms": 4000}),
    Kind("breaks-tools", "json", {"broken": "tool"}, tools=True),
    Kind("refuses", "refusals", {"refuse": True}),
    # No fault makes answers dearer: the candidate's model is, by a factor of ten.
    Kind("costs-more", "cost", None, cost_slo=_TOO_MUCH),
)


def measured(runs: int, rate: float) -> list[Run]:
    """``runs`` of each kind at ``rate`` requests a second, on a stage of its own that is gone afterwards."""
    with _stage() as checkout:
        rest = Rest(runs * len(KINDS))
        for start in range(0, runs, PLACES):
            places = min(PLACES, runs - start)
            try:
                gateway = _up(checkout, attempt=start // PLACES + 1)
            except SluicewayError as error:
                for kind in (kind for kind in KINDS for _ in range(places)):
                    rest.add(Run.of(kind.name, kind.gate, None, [], broken=str(error)[:300]))
                continue
            asyncio.run(_round(checkout, gateway, places, rate, rest))
        return rest.found


@contextmanager
def _stage() -> Iterator[Checkout]:
    with tempfile.TemporaryDirectory(prefix="sluiceway-bench-") as folder:
        checkout = make_checkout(Path(folder) / "checkout")
        try:
            for kind in KINDS:
                for place in range(PLACES):
                    _write_model(checkout, _model(kind, place), kind.backend)
            yield checkout
        finally:
            checkout.sluiceway("local", "stop")


def _model(kind: Kind, place: int) -> str:
    return f"{kind.name}-{place + 1}"


def _write_model(checkout: Checkout, name: str, backend: str) -> None:
    """A model as `chat` is: two versions, of which the stable one stands in for the other; ``backend``: the other's."""
    text = (checkout.root / "models/chat.yaml").read_text("utf-8")
    text = text.replace("default: true\n", "").replace("chat@", f"{name}@").replace(_CANDIDATE, backend)
    (checkout.root / f"models/{name}.yaml").write_text(text, "utf-8")


def _up(checkout: Checkout, attempt: int) -> Gateway:
    path = checkout.root / "stacks/Pulumi.local.yaml"
    head = path.read_text("utf-8").partition("  sluiceway:models:\n")[0]
    models = [_rollout(kind, _model(kind, place), attempt) for kind in KINDS for place in range(PLACES)]
    path.write_text("".join((head, "  sluiceway:models:\n", *models)), "utf-8")
    return bring_up(checkout)


def _rollout(kind: Kind, name: str, attempt: int) -> str:
    return f"""\
    {name}:
      rollout:
        strategy: canary
        stable: {name}@1
        candidate: {name}@2
        steps: [{{weight: 5, hold: 1h}}, {{weight: 100, hold: 1h}}]
        gates:
          latency: {{slo: 2}}
          cost: {{slo: {kind.cost_slo}}}
          first_token: "off"
          empty: "off"
          guard: "off"
        attempt: {attempt}
"""


@dataclass
class Rest:
    """The runs that are over, of so many; says what each came to, and how long the others will take."""

    runs: int
    clock: Callable[[], float] = time.monotonic
    found: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def add(self, run: Run) -> None:
        self.found.append(run)
        spent = self.clock() - self._began
        left = human_seconds(spent / len(self.found) * (self.runs - len(self.found)))
        print(f"{run.told()}; {len(self.found)} of {self.runs}, about {left} left", file=sys.stderr, flush=True)


async def _round(checkout: Checkout, gateway: Gateway, places: int, rate: float, rest: Rest) -> None:
    limits = httpx.Limits(max_connections=400, max_keepalive_connections=100)
    async with httpx.AsyncClient(timeout=PATIENCE_S, limits=limits, trust_env=False) as client:
        for place in range(places):
            for kind in KINDS:
                crowd = Crowd(gateway, client, _model(kind, place), rate, kind.tools)
                rest.add(await _survived(checkout.root / ".sluiceway/local", kind, crowd))


async def _survived(data: Path, kind: Kind, crowd: Crowd) -> Run:
    """One run; what broke it off is said of it, and no reason to lose the others."""
    try:
        await settle(crowd.gateway, crowd.client, f"{crowd.model}@2")
        return await _run(data, kind, crowd)
    except (httpx.HTTPError, SluicewayError, OSError, LookupError, ValueError) as error:
        await crowd.leave()
        return Run.of(kind.name, kind.gate, None, crowd.asked, broken=f"{type(error).__name__}: {error}"[:300])


async def _run(data: Path, kind: Kind, crowd: Crowd) -> Run:
    """``data``: the stage's folder, which says where its faults are."""
    if kind.fault is not None:
        seed = int.from_bytes(os.urandom(4), "big") >> 1
        faults.add(data, {"models": [kind.backend], "seed": seed, **kind.fault})
    try:
        entry = await crowd.until_rolled_back(MOST_S)
    finally:
        faults.clear(data)
    return Run.of(kind.name, kind.gate, entry, crowd.asked)
