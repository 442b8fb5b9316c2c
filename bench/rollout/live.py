"""Candidates that go wrong on a local stage under load: how soon they are rolled back, by which gate, and who notices.

Each run has a model of its own, with a rollout that nobody has asked yet: one `up` for several runs, where raising
`attempt` would be one for each. `attempt` is raised where there are more runs than places.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.rollout.live_report import Run
from bench.rollout.load import PATIENCE_S, Crowd, Gateway, settle
from sluiceway.errors import SluicewayError
from sluiceway.local.faults import client as faults
from tests.e2e.checkout import Checkout, make_checkout

PLACES = 3
"""Models of each kind: more of them make what the controller keeps larger than any stage's."""
MOST_S = 240.0
_CANDIDATE = "@cf/moonshotai/kimi-k2.6"
_ENOUGH, _TOO_MUCH = 0.01, 0.0001  # US dollars: over what either asks, and between the prices of the two


@dataclass(frozen=True)
class Kind:
    """One way of going wrong: the fault of candidate's model, and the gate that must say so."""

    name: str
    gate: str
    fault: dict[str, Any] | None
    tools: bool = False
    cost_slo: float = _ENOUGH


KINDS = (
    Kind("fails-20", "errors", {"status": 500, "share": 0.2}),
    Kind("fails-100", "errors", {"status": 500}),
    Kind("slower", "latency", {"delay_ms": 4000}),
    Kind("breaks-tools", "json", {"broken": "tool"}, tools=True),
    Kind("refuses", "refusals", {"refuse": True}),
    # No fault makes answers dearer: the candidate's model is, by a factor of ten.
    Kind("costs-more", "cost", None, cost_slo=_TOO_MUCH),
)


def measured(runs: int, rate: float) -> list[Run]:
    """``runs`` of each kind at ``rate`` requests a second, on a stage of its own that is gone afterwards."""
    with _stage() as checkout:
        found: list[Run] = []
        for start in range(0, runs, PLACES):
            gateway = _up(checkout, attempt=start // PLACES + 1)
            found += asyncio.run(_round(checkout, gateway, min(PLACES, runs - start), rate))
        return found


@contextmanager
def _stage() -> Iterator[Checkout]:
    with tempfile.TemporaryDirectory(prefix="sluiceway-bench-") as folder:
        checkout = make_checkout(Path(folder) / "checkout")
        try:
            for kind in KINDS:
                for place in range(PLACES):
                    _write_model(checkout, _model(kind, place))
            yield checkout
        finally:
            checkout.sluiceway("local", "stop")


def _model(kind: Kind, place: int) -> str:
    return f"{kind.name}-{place + 1}"


def _write_model(checkout: Checkout, name: str) -> None:
    """A model as `chat` is: two versions, of which the stable one stands in for the other."""
    text = (checkout.root / "models/chat.yaml").read_text("utf-8")
    text = text.replace("default: true\n", "").replace("chat@", f"{name}@")
    (checkout.root / f"models/{name}.yaml").write_text(text, "utf-8")


def _up(checkout: Checkout, attempt: int) -> Gateway:
    path = checkout.root / "stacks/Pulumi.local.yaml"
    head = path.read_text("utf-8").partition("  sluiceway:models:\n")[0]
    models = [_rollout(kind, _model(kind, place), attempt) for kind in KINDS for place in range(PLACES)]
    path.write_text("".join((head, "  sluiceway:models:\n", *models)), "utf-8")
    up = checkout.sluiceway("up", "local")
    if up.code:
        raise SluicewayError(f"the stage did not come up: {up.err[-1000:]}")
    local = checkout.root / ".sluiceway/local"
    key, admin_key = ((local / name).read_text().strip() for name in ("api-key", "admin-key"))
    return Gateway(checkout.sluiceway("output", "local", "url").out.strip(), key, admin_key)


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


async def _round(checkout: Checkout, gateway: Gateway, places: int, rate: float) -> list[Run]:
    found = []
    limits = httpx.Limits(max_connections=400, max_keepalive_connections=100)
    async with httpx.AsyncClient(timeout=PATIENCE_S, limits=limits, trust_env=False) as client:
        for place in range(places):
            for kind in KINDS:
                await settle(gateway, client, f"{_model(kind, place)}@2")
                crowd = Crowd(gateway, client, _model(kind, place), rate, kind.tools)
                run = await _run(checkout.root / ".sluiceway/local", kind, crowd)
                print(run.told(), file=sys.stderr, flush=True)
                found.append(run)
    return found


async def _run(data: Path, kind: Kind, crowd: Crowd) -> Run:
    """``data``: the stage's folder, which says where its faults are."""
    if kind.fault is not None:
        faults.add(data, {"models": [_CANDIDATE], "seed": int.from_bytes(os.urandom(4), "big") >> 1, **kind.fault})
    try:
        entry = await crowd.until_rolled_back(MOST_S)
    finally:
        faults.clear(data)
    return Run.of(kind.name, kind.gate, entry, crowd.asked)
