"""A fault of models: which calls it concerns, what it does to them, how often, and until when.

| field               | means                                                                                  |
| ------------------- | -------------------------------------------------------------------------------------- |
| `models`            | names or patterns (`glm-4.7-flash`, `@cf/moonshotai/*`); none: every model             |
| `backend`           | `workers-ai`: calls of `env.AI`; `openai`: the OpenAI-compatible face; none: both      |
| `status`, `code`    | refuse with this HTTP status and Workers AI code; one of the two is enough             |
| `retry_after`       | seconds, as the header of that refusal                                                 |
| `delay_ms`          | before the first token, or before whatever else the fault does                         |
| `tokens_per_second` | no faster than this                                                                    |
| `cut_after`         | the connection ends after this many tokens; a whole answer ends half-way               |
|                     | (a streamed answer through `env.AI` then just stops, since workerd hides the reset)    |
| `broken`            | `json`: a body or an event that is no JSON; `tool`: arguments of a tool call that end early |
| `refuse`            | the model declines: one sentence, finish reason `content_filter`                       |
| `drop`              | the connection ends before any answer                                                  |
| `share`, `seed`, `seconds`, `count` | as in `when.py`                                                        |
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from sluiceway.local.ai.errors import TABLE, AiError
from sluiceway.local.ai.models import ALIASES, MODELS
from sluiceway.local.faults.when import When

Backend = Literal["workers-ai", "openai"]
# The code that goes with a status when none is asked for.
_USUAL_CODES = {400: 5006, 403: 5018, 404: 3042, 408: 3007, 413: 3006, 429: 3040}
_CHAT_ALONE = ("tokens_per_second", "refuse")


class Fault(When):
    """As the table above says; frozen."""

    does: ClassVar[tuple[str, ...]] = (
        "status", "code", "delay_ms", "tokens_per_second", "cut_after", "broken", "refuse", "drop",
    )  # fmt: skip

    models: list[str] = Field(default=[], max_length=50)
    backend: Backend | None = None
    status: int | None = Field(None, ge=400, le=599)
    code: int | None = Field(None, ge=1000, le=9999)
    retry_after: int | None = Field(None, ge=0, le=86_400)
    delay_ms: int | None = Field(None, ge=1, le=600_000)
    tokens_per_second: float | None = Field(None, gt=0, le=100_000)
    cut_after: int | None = Field(None, ge=0)
    broken: Literal["json", "tool"] | None = None
    refuse: bool = False
    drop: bool = False

    @field_validator("models")
    @classmethod
    def _known(cls, models: list[str]) -> list[str]:
        for name in models:
            if not is_known(name):
                raise ValueError(f"no model of the local stage is called {name!r}")
        return models

    @model_validator(mode="after")
    def _does_something(self) -> Fault:
        if not self.effects():
            raise ValueError("this fault does nothing")
        if self.retry_after is not None and self.refusal() is None:
            raise ValueError("retry_after belongs to a refusal: give a status or a code too")
        endings = [name for name in ("status", "code", "drop") if getattr(self, name)]
        if self.drop and len(endings) > 1:
            raise ValueError("a connection that is dropped tells no status and no code")
        return self

    def concerns(self, model: str, backend: Backend, *, chat: bool, tools: bool) -> bool:
        """Whether a call is one of those that it may hit. ``model``: its id; ``tools``: it names some."""
        if self.backend not in (None, backend) or (self.models and not any(_fits(name, model) for name in self.models)):
            return False
        possible = [
            name
            for name in self.effects()
            if (chat or name not in _CHAT_ALONE) and (name != "broken" or self.broken == "json" or tools)
        ]
        return bool(possible)

    def refusal(self) -> AiError | None:
        """The error that its calls get, or None."""
        if self.status is None and self.code is None:
            return None
        code = self.code or _USUAL_CODES.get(self.status or 500, 3043)
        error = AiError(code, "The local stage was asked to fail here", status=self.status)
        if code in TABLE:
            error.description = TABLE[code][1]
        if self.retry_after is not None:
            error.headers = {"retry-after": str(self.retry_after)}
        return error


def hint(path: str) -> str | None:
    """What a field of a fault of models may be, where that takes saying."""
    if path == "models":
        return f"a pattern such as '*kimi*', or one of {', '.join(model.short for model in MODELS.values())}"
    return None


def is_known(name: str) -> bool:
    """Whether this is a pattern, or a model that the local stage has."""
    return any(char in name for char in "*?[") or any(_fits(name, known) for known in _names())


def _names() -> list[str]:
    return [*MODELS, *ALIASES]


def _fits(pattern: str, model: str) -> bool:
    return fnmatchcase(model, pattern) or fnmatchcase(model.rsplit("/", 1)[-1], pattern)
