"""The gates of two worker versions, as the stage's controller tells them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.release.controller_gates import PATH, ControllerGates
from sluiceway.release.gates import Reading, Window
from tests.unit.rollouts.fake_stage import gate

BEGIN = datetime(2026, 7, 1, 12, tzinfo=UTC)
WINDOW = Window(BEGIN, BEGIN + timedelta(minutes=10))
LOG = Reading("pass", "errors pass: 1 of 300")
Json = dict[str, Any]
NONE = {"requests": 0, "bad": 0}


def ramp(verdict: str = "inconclusive", **changes: object) -> Json:
    return {
        "old": "old", "new": "new", "since": 1, "step": 2, "verdict": verdict, "gate": "errors", "reason": None,
        "gates": [gate(), gate("json", stable=NONE, candidate=NONE)], **changes,
    }  # fmt: skip


@dataclass
class Log:
    """Counts how often it is asked, and is opened."""

    opened: int = 0
    asked: list[Window] = field(default_factory=list)
    source: str = "the stage's log"

    def open(self) -> Log:
        self.opened += 1
        return self

    def verdict(self, old: str, new: str, window: Window) -> Reading:
        self.asked.append(window)
        return LOG

    def end(self) -> None:
        raise AssertionError("nothing is to be ended")


@dataclass
class Stage:
    answer: Callable[[], Json]
    sent: list[tuple[str, str, Json | None]] = field(default_factory=list)
    log: Log = field(default_factory=Log)

    def send(self, method: str, path: str, body: Json | None) -> Json:
        self.sent.append((method, path, body))
        return self.answer()

    def read(self, latency_s: float | None = None, margin: float = 0.02) -> Reading:
        return ControllerGates(self.send, margin, latency_s, self.log.open).verdict("old", "new", WINDOW)


def told(**changes: object) -> Reading:
    return Stage(lambda: {"ramp": ramp(**changes)}).read()  # type: ignore[arg-type]


def test_a_verdict_is_asked_for_with_what_counts_and_by_which_gates() -> None:
    stage = Stage(lambda: {"ramp": ramp("pass", gate=None)})
    stage.read(latency_s=8.0)
    ((method, path, body),) = stage.sent
    assert (method, path) == ("POST", PATH)
    assert body is not None
    assert (body["old"], body["new"]) == ("old", "new")
    assert (body["step"] - body["since"], body["since"]) == (600_000, BEGIN.timestamp() * 1000)
    assert {each["name"]: (each["margin"], each["slo"], each["mode"]) for each in body["gates"]} == {
        "errors": (0.02, None, "enforce"), "json": (0.02, None, "enforce"), "empty": (0.02, None, "enforce"),
        "guard": (0.02, None, "enforce"), "refusals": (0.05, None, "enforce"), "latency": (0.02, 8.0, "enforce"),
    }  # fmt: skip


def test_without_a_limit_there_is_no_gate_on_latency_and_a_wide_margin_is_of_refusals_too() -> None:
    stage = Stage(lambda: {"ramp": ramp()})
    stage.read(margin=0.1)
    gates = (stage.sent[0][2] or {})["gates"]
    assert {each["name"]: each["margin"] for each in gates} == dict.fromkeys(
        ("errors", "json", "empty", "guard", "refusals"), 0.1
    )


def test_a_fail_names_its_gate_and_the_figures() -> None:
    found = told(verdict="fail", gates=[gate(), gate("json", candidate={"requests": 60, "bad": 12})], gate="json")
    assert (found.verdict, found.gate, found.frozen) == ("fail", "json", False)
    assert found.reason == (
        "json fail: 12 of 60 requests of the new version were bad, and 9 of 900 of the old one"
    )  # fmt: skip


def test_a_pass_names_the_gates_that_had_requests() -> None:
    found = told(verdict="pass", gate=None)
    assert (found.verdict, found.gate) == ("pass", None)
    assert found.reason.startswith("errors pass: 1 of 100 requests of the new version were bad")


@pytest.mark.parametrize(
    ("reason", "words", "frozen"),
    [
        ("platform", "both versions fail alike", True),
        ("stable-degraded", "the old version fails by itself", False),
        ("suspect", "whether it is alone", False),
        ("no-control", "no requests to compare with", False),
        ("inconclusive", "can't be told yet: 1 of 100", False),
    ],
)
def test_what_holds_is_said_and_only_a_fault_of_the_platform_freezes(reason: str, words: str, frozen: bool) -> None:
    found = told(reason=reason)
    assert (found.verdict, found.gate, found.frozen) == ("inconclusive", "errors", frozen)
    assert words in found.reason


@pytest.mark.parametrize(
    "fault",
    [
        UserError("there are no admin endpoints at this URL (HTTP 404)", hint="bring it up"),
        SluicewayError("the gateway failed: its rollouts can't be reached right now", hint="again"),
    ],
)
def test_a_gateway_that_can_not_say_leaves_it_to_the_log(fault: SluicewayError) -> None:
    def refuse() -> Json:
        raise fault

    stage = Stage(refuse)
    gates = ControllerGates(stage.send, 0.02, None, stage.log.open)
    for _ in range(3):
        found = gates.verdict("old", "new", WINDOW)
        assert found.verdict == "pass"
        assert found.reason == f"{LOG.reason} (from the stage's log: {fault.message})"
    assert (stage.log.opened, len(stage.log.asked), len(stage.sent)) == (1, 3, 3)
    gates.end()


@pytest.mark.parametrize(
    ("stable", "candidate", "silent"),
    [(0, 250, "old"), (2_500, 0, "new"), (0, 20, None), (300, 0, None), (0, 0, None)],
)
def test_a_version_of_before_it_could_tell_leaves_it_to_the_log(
    stable: int, candidate: int, silent: str | None
) -> None:
    one = gate(stable={"requests": stable, "bad": 0}, candidate={"requests": candidate, "bad": 0})
    stage = Stage(lambda: {"ramp": ramp(gates=[one])})
    found = stage.read()
    assert stage.log.opened == (silent is not None)
    if silent is not None:
        assert f"the {silent} version tells it nothing" in found.reason
    else:
        assert found.verdict == "inconclusive"


def test_the_end_of_a_ramp_is_told() -> None:
    stage = Stage(lambda: {"ramp": None})
    ControllerGates(stage.send, 0.02, None, stage.log.open).end()
    assert stage.sent == [("DELETE", PATH, None)]
