"""How a new worker version comes to serve, as a stack file may state it. Planning decides what is left out."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from sluiceway.domain.fault import Fault
from sluiceway.settings.fields import Block, Listed
from sluiceway.settings.rollouts import Duration

_MOST_STEPS = 20


def _rising(steps: tuple[int, ...]) -> tuple[int, ...]:
    if not steps:
        raise Fault("a ramp has a step", hint="leave ramp out, and a new version serves all requests at once")
    if list(steps) != sorted(steps) or steps[-1] != 100:
        raise Fault(
            "the steps of a ramp rise, and the last is 100",
            got=list(steps),
            hint=f"write it like {[*sorted(step for step in steps if step != 100), 100]}",
        )
    if len(steps) > _MOST_STEPS:
        raise Fault(f"a ramp has at most {_MOST_STEPS} steps", got=len(steps), hint="take some out")
    return steps


class ReleaseSettings(Block):
    """``ramp``: percent of requests, step by step; with it, `up` uploads a version and `release ramp` deploys it.

    ``hold``: the shortest time at each step. ``margin``: how much larger a share of the new version's requests than
    of the old one's may be bad. ``latency``: a request that takes longer is bad; without it none is for its time.
    """

    ramp: Annotated[Listed[Annotated[int, Field(ge=1, le=100)]], AfterValidator(_rising)] | None = None
    hold: Duration | None = None
    margin: Annotated[float, Field(ge=0, le=0.5, strict=False)] | None = None
    latency: Duration | None = None
