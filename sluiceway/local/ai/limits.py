"""Workers AI's rate limits per model, off unless asked for: a canary shares the account's minute with stable."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from sluiceway.errors import UserError
from sluiceway.local.ai.errors import AiError
from sluiceway.local.ai.models import AiModel

WINDOW = 60.0
VARIABLE = "SLUICEWAY_LOCAL_AI_RATE_LIMIT"


@dataclass
class RateLimiter:
    """``per_minute`` calls of each model in any 60 s, or Cloudflare's figures if it is None. ``clock``: seconds."""

    per_minute: int | None = None
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque), init=False)

    @classmethod
    def parse(cls, setting: str) -> RateLimiter:
        """``cloudflare``, or a whole number of calls a minute."""
        if setting == "cloudflare":
            return cls()
        if setting.isascii() and setting.isdigit() and int(setting) > 0:
            return cls(int(setting))
        hint = "unset it for no limit, or write a whole number above 0, such as 20"
        raise UserError("must be off, cloudflare, or calls per minute", path=VARIABLE, got=setting, hint=hint)

    def admit(self, model: AiModel) -> None:
        """Counts a call, or raises AiError 3039 (HTTP 429)."""
        seen = self._seen[model.id]
        now = self.clock()
        while seen and seen[0] <= now - WINDOW:
            seen.popleft()
        if len(seen) >= (self.per_minute or published(model)):
            raise AiError(3039)
        seen.append(now)


def published(model: AiModel) -> int:
    """Calls a minute that Cloudflare allows an account by default."""
    if model.task == "Text Embeddings":
        return 1500 if model.short == "bge-large-en-v1.5" else 3000
    return 20 if model.paid else 300
