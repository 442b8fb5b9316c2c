"""Times as people write them, the arithmetic of a rollout, and the sentence that says what it means."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest

from sluiceway.domain.duration import seconds, shown
from sluiceway.domain.fault import Fault
from sluiceway.domain.rollout import Gate, RolloutSpec, Step, least_to_pass

ERRORS = Gate("errors", 0.02, None, "enforce")
CANARY = RolloutSpec(
    strategy="canary",
    stable=1,
    candidates=(2,),
    arms=(),
    steps=(Step(10, 600, False, {"errors": 0.05}), Step(100, 6_600, False, {})),
    gates=(ERRORS,),
    alpha=0.01,
    beta=0.05,
    min_fail=10,
    min_bad=3,
    min_pass=50,
    absolute=0.2,
    control=5,
    checks=(),
    watch_s=0,
    warm_s=0,
    on_fail="rollback",
    no_control="hold",
    grace_s=600,
    mirror=0,
    attempt=1,
)
AB = replace(CANARY, strategy="ab", candidates=(2, 5), arms=(10, 20), steps=())


@pytest.mark.parametrize(
    ("written", "meant"),
    [("30s", 30), ("10m", 600), ("2h", 7_200), ("1d", 86_400), (90, 90), (0, 0), ("0s", 0), ("30d", 2_592_000)],
)
def test_a_time_is_a_number_and_its_unit_or_seconds(written: object, meant: int) -> None:
    assert seconds(written) == meant


@pytest.mark.parametrize(
    "written", ["", "10", "10 m", "m", "1h30m", "-1m", "٣m", "10M", 1.5, True, None, -1, [], "31d"]
)
def test_what_is_no_time_is_refused_with_what_to_write(written: object) -> None:
    with pytest.raises(Fault) as caught:
        seconds(written)
    assert caught.value.got == written
    assert "write" in caught.value.hint


@pytest.mark.parametrize(
    ("total", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (600, "10 min"),
        (5_400, "1 h 30 min"),
        (7_200, "2 h"),
        (95_490, "1 d 2 h"),
        (90, "1 min 30 s"),
    ],
)
def test_a_time_is_shown_in_its_two_largest_units(total: int, text: str) -> None:
    assert shown(total) == text


@pytest.mark.parametrize(("margin", "floor"), [(0.01, 299), (0.02, 149), (0.03, 99), (0.05, 59)])
def test_the_floor_of_a_pass_is_where_good_requests_alone_reach_it(margin: float, floor: int) -> None:
    assert least_to_pass(margin, 0.05, 50) == floor
    # With one request fewer, a candidate that is just too bad would show no bad one in more than 1 of 20 rollouts.
    assert (1 - margin) ** floor <= 0.05 < (1 - margin) ** (floor - 1)


def test_the_floor_is_never_below_the_least_that_is_asked_for_and_none_at_no_margin() -> None:
    assert log(20) / -log(0.8) < 50
    assert least_to_pass(0.2, 0.05, 50) == 50
    assert least_to_pass(0, 0.05, 50) is None


def test_stable_serves_alone_if_nothing_else_is_known_and_of_an_ab_the_arms_too() -> None:
    assert CANARY.split().weights == ((1, 100), (2, 0))
    assert AB.split().weights == ((1, 70), (2, 10), (5, 20))
    assert AB.split().stable == 1


def test_a_steps_own_margin_holds_in_it_alone() -> None:
    assert [CANARY.margin(ERRORS, step) for step in (*CANARY.steps, None)] == [0.05, 0.02, 0.02]


def test_the_document_has_every_field_and_nothing_that_json_lacks() -> None:
    document = CANARY.document()
    # Most rollouts have no probes, and older Workers know none.
    assert CANARY.probes is None
    assert set(document) == set(CANARY.__dataclass_fields__) - {"probes"}
    assert document["steps"] == [
        {"weight": 10, "hold_s": 600, "approval": False, "margins": {"errors": 0.05}},
        {"weight": 100, "hold_s": 6_600, "approval": False, "margins": {}},
    ]
    assert document["gates"] == [{"name": "errors", "margin": 0.02, "slo": None, "mode": "enforce"}]


ASKING = replace(CANARY.steps[0], approval=True)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (CANARY, "chat: chat@1 -> chat@2 by canary 10, 100 %, at least 2 h"),
        (replace(CANARY, attempt=3), "chat: chat@1 -> chat@2 by canary 10, 100 %, at least 2 h; attempt 3"),
        (
            replace(CANARY, checks=("golden",), steps=(ASKING, CANARY.steps[1])),
            "chat: chat@1 -> chat@2 by canary 10, 100 %, after golden, at least 2 h, and a person's yes at 10 %",
        ),
        (
            replace(CANARY, strategy="blue-green", steps=CANARY.steps[1:]),
            "chat: chat@1 -> chat@2 by blue-green, at least 1 h 50 min",
        ),
        (AB, "chat: ab of chat@1 70 %, chat@2 10 %, chat@5 20 %, until git changes it"),
        (
            replace(CANARY, strategy="shadow", steps=(), mirror=10),
            "chat: shadow: 10 % of the requests of chat@1 go to chat@2 too, and its answers to nobody",
        ),
    ],
)
def test_a_rollout_is_one_sentence(spec: RolloutSpec, text: str) -> None:
    assert spec.sentence("chat") == text


@pytest.mark.parametrize(
    ("changed", "at"),
    [
        ({"candidates": (1,)}, ".candidate"),
        ({"steps": CANARY.steps[::-1]}, ".steps[1].weight"),
        ({"steps": (CANARY.steps[0], CANARY.steps[0])}, ".steps[1].weight"),
    ],
)
def test_no_spec_can_be_made_that_the_rules_refuse(changed: dict[str, object], at: str) -> None:
    with pytest.raises(Fault) as caught:
        replace(CANARY, **changed)  # type: ignore[arg-type]
    assert caught.value.at == at


@pytest.mark.parametrize(
    ("changed", "at"),
    [
        ({"arms": (50, 50)}, ".arms"),
        ({"candidates": (2, 2)}, ".arms[1].version"),
        ({"candidates": (2, 1)}, ".arms[1].version"),
    ],
)
def test_arms_leave_room_for_stable_and_are_each_another_version(changed: dict[str, object], at: str) -> None:
    with pytest.raises(Fault) as caught:
        replace(AB, **changed)  # type: ignore[arg-type]
    assert caught.value.at == at
