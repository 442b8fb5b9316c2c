"""What the handlers of Workers AI share."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sluiceway.local.ai.calls import CallLog
from sluiceway.local.ai.engine import Engine
from sluiceway.local.ai.limits import RateLimiter
from sluiceway.local.ai.sink import EventSink
from sluiceway.local.faults.active import Faults

BODY_LIMIT = 10 * 1024 * 1024  # what Workers AI takes in one request


@dataclass
class AiStage:
    """``token`` guards the REST paths, ``secret`` those that only workerd knows. ``base_url`` has no slash at its end.

    ``gateway_exists`` is asked before a call goes through an AI Gateway; None lets every name pass. ``finetune``
    gives what the account has under a name or an id: ``name``, ``model``, and ``assets`` by their names.
    """

    token: str
    account_id: str
    secret: str
    engine: Engine
    calls: CallLog
    sink: EventSink
    base_url: str
    limiter: RateLimiter | None = None
    gateway_exists: Callable[[str], bool] | None = None
    finetune: Callable[[str], Mapping[str, Any] | None] = lambda _: None
    clock: Callable[[], float] = time.time
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())
    batches: dict[str, Any] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
