"""Writes rollout.json: what a stack file states, and what config.json has of it. Run after a default has changed.

    python -m tests.contract.make_rollout

Read by pytest (planning decides so) and by vitest (the Worker takes it).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from sluiceway import settings
from sluiceway.catalog import Catalog
from sluiceway.domain.model import Model, ModelVersion
from sluiceway.planning import StagePlan, plan

PATH: Final = Path(__file__).with_name("rollout.json")
ACCOUNT: Final = "0123456789abcdef0123456789abcdef"
STABLE: Final = {"stable": "chat@1"}
ONE: Final = {**STABLE, "candidate": "chat@2"}

STATED: Final[dict[str, dict[str, Any]]] = {
    "a canary that says nothing else": {"strategy": "canary", **ONE},
    "a canary that says it all": {
        "strategy": "canary",
        **ONE,
        "steps": [
            {"weight": 5, "hold": "10m", "margins": {"guard": 0.05, "errors": 0.05}},
            {"weight": 50, "hold": 90, "approval": True},
            {"weight": 100, "hold": "1d"},
        ],
        "gates": {
            "errors": {"margin": 0.01},
            "latency": {"slo": 8},
            "first_token": {"mode": "observe"},
            "json": "off",
            "refusals": {"mode": "off"},
            "speed": {"slo": 20, "margin": 0.1},
            "feedback": {},
            "cost": {"slo": 0.002, "mode": "observe"},
            "golden": {"margin": 0.03},
        },
        "checks": ["golden"],
        "watch": "2h",
        "control": 10,
        "on_fail": "hold",
        "no_control": "rollback",
        "grace": "5m",
        "attempt": 2,
        "alpha": 0.05,
        "beta": 0.1,
        "min_fail": 20,
        "min_bad": 5,
        "min_pass": 100,
        "absolute": 0.3,
    },
    "a canary that stops before 100": {"strategy": "canary", **ONE, "steps": [{"weight": 10, "hold": "10m"}]},
    "a blue-green that says nothing else": {"strategy": "blue-green", **ONE},
    "a blue-green with a check and a yes": {
        "strategy": "blue-green",
        **ONE,
        "checks": ["golden"],
        "steps": [{"weight": 100, "hold": "5m", "approval": True}],
        "warm": "30m",
        "watch": 0,
    },
    "an ab of three versions": {
        "strategy": "ab",
        **STABLE,
        "arms": [{"version": "chat@2", "weight": 5}, {"version": "chat@3", "weight": 25}],
    },
    "a shadow that says nothing else": {"strategy": "shadow", **ONE},
    "a canary with probes": {
        "strategy": "canary",
        **ONE,
        "probes": {"every": "1m", "set": "golden", "cost": 0.5},
        "gates": {"probes": {"margin": 0.1}},
    },
    "a canary with probes that says no more": {"strategy": "canary", **ONE, "probes": {}},
    "a shadow of half of the requests": {"strategy": "shadow", **ONE, "mirror": 50, "gates": {"cost": {"slo": 0.01}}},
}


def planned(rollout: dict[str, Any], **stated: object) -> StagePlan:
    """A stage that serves model ``chat`` with versions 1 to 3 by ``rollout``."""
    versions = tuple(ModelVersion("chat", number, "workers-ai", f"@cf/made/up-{number}") for number in (1, 2, 3))
    catalog = Catalog((Model("chat", "chat", True, versions),))
    mapping: dict[str, object] = {"account_id": ACCOUNT, "models": {"chat": {"rollout": rollout}}, **stated}
    return plan(settings.parse(mapping, "here", stage="dev"), catalog)


def case(name: str, rollout: dict[str, Any]) -> dict[str, Any]:
    """One case: what is stated, and of config.json ``models.chat.split`` and ``.rollout``; the sentence for people."""
    found = planned(rollout)
    model = found.models_document()["chat"]
    assert isinstance(model, dict)
    (sentence,) = found.rollout_sentences()
    return {"name": name, "stated": rollout, "split": model["split"], "rollout": model["rollout"], "means": sentence}


if __name__ == "__main__":
    cases = [case(name, rollout) for name, rollout in STATED.items()]
    PATH.write_text(json.dumps({"cases": cases}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
