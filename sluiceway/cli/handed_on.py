"""Hands a new spec on to the controller as an update ends, and tells how each rollout stands then.

The first request to a new worker version brings its spec along; on a stage without traffic this is the first.
"""

from __future__ import annotations

from collections.abc import Callable

from sluiceway.cloudflare.gateway_admin import GatewayAdmin
from sluiceway.errors import SluicewayError
from sluiceway.rollouts.client import Rollouts


def hand_on(opened: Callable[[], GatewayAdmin], declared: bool) -> tuple[str, ...]:
    """A sentence for each rollout, as the controller has it now. Never raises: the update itself is done.

    ``declared``: whether git declares a rollout; only then is it worth a word that the controller can't be reached.
    """
    try:
        with opened() as admin:
            found = Rollouts(admin).stage()
    except SluicewayError as fault:
        told = f"the controller can't be told of it now ({fault.message}); the next request to the stage tells it"
        return (told,) if declared else ()
    return tuple(model.waiting for model in found.models if model.strategy is not None)
