"""A watch looks until nothing runs any more, and says by its end whether a gate ended it."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from sluiceway.errors import GateAborted, SluicewayError, UserError
from sluiceway.rollouts.client import Rollouts
from sluiceway.rollouts.watching import Look, looks
from tests.unit.rollouts.fake_stage import BEGAN, FakeStage, entry, refusal, view


class Clock:
    """Each nap lets a second go by, and whatever is planned for it happens."""

    def __init__(self, **plan: Callable[[], None]) -> None:
        self.now = BEGAN / 1000
        self.naps = 0
        self.plan = plan

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.naps += 1
        assert self.naps < 1000, "the watch does not end"
        if (step := self.plan.get(f"nap{self.naps}")) is not None:
            step()


def ends(fake: FakeStage, phase: str, cause: str = "clock", model: str = "chat") -> Callable[[], None]:
    def step() -> None:
        fake.views[model] = view(model, phase=phase, weights=[[1, 100]], until=None)
        told = {"kind": phase, "phase": phase, "cause": cause, "model": model}
        fake.entries.append(entry(len(fake.entries) + 1, f"{model}: {phase}.", **told))

    return step


def watched(fake: FakeStage, model: str | None, clock: Clock, wait_s: float = 0) -> list[Look]:
    with fake.admin() as admin:
        return list(looks(Rollouts(admin), model, clock=clock, sleep=clock.sleep, wait_s=wait_s))


def test_a_watch_ends_with_the_rollout_and_gives_each_entry_once() -> None:
    fake = FakeStage()
    fake.entries = [entry(1, "one."), entry(2, "two.")]
    seen = watched(fake, "chat", Clock(nap2=lambda: fake.entries.append(entry(3, "3.")), nap4=ends(fake, "promoted")))
    assert [[one.number for one in look.fresh] for look in seen] == [[1, 2], [], [3], [], [4]]
    assert [look.models[0].phase for look in seen][-2:] == ["stepping", "promoted"]


def test_of_a_long_past_the_first_look_gives_the_end() -> None:
    fake = FakeStage(view(phase="promoted"))
    fake.entries = [entry(number, f"{number}.") for number in range(1, 100)]
    (look,) = watched(fake, "chat", Clock())
    assert [one.number for one in look.fresh] == list(range(90, 100))


@pytest.mark.parametrize("model", ["chat", None])
def test_a_rollback_by_a_gate_ends_the_watch_with_3(model: str | None) -> None:
    fake = FakeStage(view("chat"), view("intent", phase="split"))
    with pytest.raises(GateAborted, match="rolled-back") as caught:
        watched(fake, model, Clock(nap3=ends(fake, "rolled-back", "gate:errors")))
    assert (caught.value.exit_code, caught.value.path) == (3, "chat")


@pytest.mark.parametrize(
    ("phase", "cause"), [("rolled-back", "person:ann"), ("aborted", "person:ann"), ("promoted", "clock")]
)
def test_any_other_end_is_no_failure(phase: str, cause: str) -> None:
    fake = FakeStage()
    assert watched(fake, "chat", Clock(nap1=ends(fake, phase, cause)))[-1].models[0].phase == phase


def test_an_old_rollback_of_another_model_is_no_end_of_this_watch() -> None:
    fake = FakeStage(view("chat"), view("intent"))
    ends(fake, "rolled-back", "gate:errors", "intent")()
    watched(fake, None, Clock(nap2=ends(fake, "promoted")))


def test_a_named_model_that_a_gate_ended_before_is_told_at_once() -> None:
    fake = FakeStage()
    ends(fake, "rolled-back", "gate:errors")()
    clock = Clock()
    with pytest.raises(GateAborted):
        watched(fake, "chat", clock)
    assert clock.naps == 0


def test_a_rollout_may_take_a_while_to_begin() -> None:
    fake = FakeStage(view(phase="promoted"))

    def begin() -> None:
        fake.views["chat"] = view()

    seen = watched(fake, "chat", Clock(nap3=begin, nap6=ends(fake, "promoted")), wait_s=5)
    assert [look.models[0].running for look in seen] == [False] * 3 + [True] * 3 + [False]
    clock = Clock()
    watched(fake, "chat", clock, wait_s=5)
    assert clock.naps == 5


def test_a_gateway_that_is_away_for_a_while_is_asked_again_and_what_was_seen_stays() -> None:
    fake = FakeStage()

    def away() -> None:
        fake.before = lambda _: httpx.Response(502)

    def back() -> None:
        fake.before = lambda _: None
        ends(fake, "promoted")()

    seen = watched(fake, "chat", Clock(nap2=away, nap5=back))
    assert [round(look.silent_s) for look in seen] == [0, 0, 1, 2, 3, 0]
    assert all(look.models[0].phase == "stepping" for look in seen[:-1])


def test_a_gateway_that_stays_away_is_an_error() -> None:
    fake = FakeStage()

    def away() -> None:
        fake.before = lambda _: httpx.Response(502)

    clock = Clock(nap1=away)
    with pytest.raises(SluicewayError, match="502"):
        watched(fake, "chat", clock)
    assert clock.naps > 100


def test_a_refusal_is_no_silence() -> None:
    fake = FakeStage()
    fake.before = lambda _: refusal(401, "invalid_admin_key", "No.")
    clock = Clock()
    with pytest.raises(UserError, match="refuses the admin key"):
        watched(fake, "chat", clock)
    assert clock.naps == 0
