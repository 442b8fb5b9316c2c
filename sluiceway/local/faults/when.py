"""What all faults have: how often they strike, until when, and how a wrong one is refused."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field


class BadFaultError(ValueError):
    """What was asked for is no fault. ``path``: the field; ``hint``: what it may be."""

    def __init__(self, path: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.hint = hint


class When(BaseModel):
    """A fault of any kind; frozen.

    | field              | means                                                   |
    | ------------------ | ------------------------------------------------------- |
    | `share`            | of the calls concerned, by chance from `seed`           |
    | `seconds`, `count` | ends after this time, or after this many calls hit      |
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    does: ClassVar[tuple[str, ...]]
    """Fields that say what happens to a call."""

    share: float = Field(1.0, gt=0, le=1)
    seconds: float | None = Field(None, gt=0, le=31_536_000)
    count: int | None = Field(None, ge=1)
    seed: int | None = None

    def effects(self) -> dict[str, Any]:
        """What it does, by field."""
        said = {name: getattr(self, name) for name in self.does}
        return {name: value for name, value in said.items() if value is not None and value is not False}

    def stated(self) -> dict[str, Any]:
        """The fields that were given, how often and until when at the end."""
        given = self.model_dump(exclude_defaults=True)
        last = When.model_fields
        return {name: given[name] for name in sorted(given, key=lambda name: name in last)}
