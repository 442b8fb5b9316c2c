"""An update tells the controller of its spec, and the person how each rollout stands."""

from __future__ import annotations

import httpx

from sluiceway.cli.handed_on import hand_on
from sluiceway.cloudflare.gateway_admin import GatewayAdmin
from sluiceway.errors import UserError
from tests.unit.rollouts.fake_stage import FakeStage, view


def test_one_look_tells_the_controller_and_gives_a_sentence_for_each_rollout() -> None:
    stage = FakeStage(view("chat"), view("embed", strategy=None, phase="split"))
    assert hand_on(stage.admin, declared=True) == ("chat: the gate errors needs more requests.",)
    assert stage.asked == [("GET", "/rollouts", None)]


def test_a_controller_out_of_reach_is_worth_a_word_where_a_rollout_is_declared() -> None:
    stage = FakeStage()
    stage.before = lambda _: httpx.Response(502, text="down")
    (told,) = hand_on(stage.admin, declared=True)
    assert "the next request to the stage tells it" in told
    assert hand_on(stage.admin, declared=False) == ()


def test_a_missing_key_does_not_fail_an_update_that_is_done() -> None:
    def opened() -> GatewayAdmin:
        raise UserError("the secret ADMIN_KEY has no value", hint="set it")

    assert hand_on(opened, declared=True)[0].startswith("the controller can't be told of it now (the secret ADMIN_KEY")
