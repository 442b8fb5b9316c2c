"""Which call a fault hits: whom it concerns, by chance from a seed, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from sluiceway.local.faults.active import Faults
from sluiceway.local.faults.fault import Fault
from sluiceway.local.faults.read import read_fault
from sluiceway.local.faults.when import BadFaultError

GLM = "@cf/zai-org/glm-4.7-flash"
KIMI = "@cf/moonshotai/kimi-k2.6"


def hits(faults: Faults, times: int = 1, model: str = GLM, **more: Any) -> list[bool]:  # noqa: ANN401
    asked = {"backend": "workers-ai", "chat": True, "tools": False, **more}
    return [faults.pick(model, **asked) is not None for _ in range(times)]


def with_fault(**fields: Any) -> Faults:  # noqa: ANN401
    faults = Faults()
    faults.add(read_fault(fields))
    return faults


def test_no_fault_hits_nothing() -> None:
    assert hits(Faults(), 3) == [False] * 3


@pytest.mark.parametrize("name", [GLM, "glm-4.7-flash", "glm*", "@cf/zai-org/*", "*flash"])
def test_a_model_is_named_in_full_in_short_or_by_pattern(name: str) -> None:
    faults = with_fault(models=[name], drop=True)
    assert hits(faults) == [True]
    assert hits(faults, model=KIMI) == [False]


def test_a_backend_and_a_kind_of_call_are_left_alone_by_what_does_not_concern_them() -> None:
    assert hits(with_fault(backend="openai", drop=True)) == [False]
    assert hits(with_fault(backend="openai", drop=True), backend="openai") == [True]
    assert hits(with_fault(refuse=True), chat=False) == [False]
    assert hits(with_fault(broken="tool")) == [False]
    assert hits(with_fault(broken="tool"), tools=True) == [True]


def test_a_share_hits_as_often_and_the_same_calls_for_the_same_seed() -> None:
    first, again, other = (hits(with_fault(status=500, share=0.3, seed=seed), 1000) for seed in (7, 7, 8))
    assert first == again != other
    assert 250 < sum(first) < 350


def test_two_faults_of_one_share_do_not_hit_the_same_calls() -> None:
    faults = Faults()
    faults.add(read_fault({"models": [GLM], "drop": True, "share": 0.5}))
    faults.add(read_fault({"models": [KIMI], "drop": True, "share": 0.5}))
    assert hits(faults, 50) != hits(faults, 50, model=KIMI)


def test_the_first_that_strikes_decides() -> None:
    faults = Faults()
    faults.add(read_fault({"status": 503, "count": 1}))
    faults.add(read_fault({"status": 429}))
    picked = [faults.pick(GLM, "workers-ai", chat=True, tools=False) for _ in range(3)]
    assert [each.number for each in picked if each] == [1, 2, 2]


def test_a_fault_ends_by_count_or_by_time_and_stays_listed() -> None:
    now = [100.0]
    faults = Faults(clock=lambda: now[0])
    faults.add(read_fault({"drop": True, "count": 2}))
    assert hits(faults, 4) == [True, True, False, False]
    faults.add(read_fault({"drop": True, "seconds": 5}))
    assert hits(faults) == [True]
    now[0] = 105.0
    assert hits(faults) == [False]
    told = faults.as_json()
    assert [(each["id"], each["hits"], each["ended"]) for each in told] == [(1, 2, True), (2, 1, True)]


def test_cleared_faults_leave_the_numbers_as_they_were_at_the_start() -> None:
    faults = with_fault(status=429, share=0.5)
    first = hits(faults, 40)
    faults.add(read_fault({"drop": True}))
    assert (faults.clear(2), faults.clear(2), faults.clear()) == (1, 0, 1)
    assert faults.add(read_fault({"status": 429, "share": 0.5}))["id"] == 1
    assert hits(faults, 40) == first


def test_faults_are_bounded_in_number() -> None:
    faults = Faults()
    for _ in range(300):
        faults.add(read_fault({"drop": True, "count": 1}))
        hits(faults)
    assert len(faults.as_json()) == 51
    for _ in range(150):
        faults.add(read_fault({"drop": True}))
    with pytest.raises(BadFaultError, match="200 faults"):
        faults.add(read_fault({"drop": True}))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "fault"),
        ({"share": 0.5}, "fault"),
        ({"status": 200}, "status"),
        ({"status": "429"}, "status"),
        ({"status": True}, "status"),
        ({"code": 12}, "code"),
        ({"drop": True, "share": 0}, "share"),
        ({"drop": True, "share": 1.5}, "share"),
        ({"drop": True, "share": float("nan")}, "share"),
        ({"drop": True, "count": 0}, "count"),
        ({"drop": True, "seconds": -1}, "seconds"),
        ({"drop": True, "seconds": float("inf")}, "seconds"),
        ({"drop": True, "models": ["nope"]}, "models"),
        ({"drop": True, "models": "glm"}, "models"),
        ({"drop": True, "backend": "onnx"}, "backend"),
        ({"drop": True, "status": 500}, "fault"),
        ({"drop": True, "retry_after": 3}, "fault"),
        ({"delay_ms": 0}, "delay_ms"),
        ({"cut_after": -1}, "cut_after"),
        ({"broken": "yaml"}, "broken"),
        ({"tokens_per_second": 0}, "tokens_per_second"),
        ({"drop": True, "what": 1}, "what"),
    ],
    ids=str,
)
def test_what_is_no_fault_is_refused_by_the_name_of_its_field(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(BadFaultError) as caught:
        read_fault(fields)
    assert caught.value.path == path
    assert caught.value.hint


def test_a_status_has_its_usual_code_and_a_code_its_status() -> None:
    refusals = [Fault.model_validate(fields).refusal() for fields in ({"status": 429}, {"code": 3036}, {"status": 503})]
    assert [(each.status, each.code) for each in refusals if each] == [(429, 3040), (429, 3036), (503, 3043)]
