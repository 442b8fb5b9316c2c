"""A value that a rule refuses, as the rule sees it: the one who read the value adds where it stood."""

from __future__ import annotations

from typing import Final

NOTHING: Final = object()


class Fault(ValueError):
    """``message`` says the rule, ``got`` what broke it (``NOTHING`` when the message says it), ``hint`` what to do."""

    def __init__(self, message: str, *, hint: str, got: object = NOTHING) -> None:
        super().__init__(message)
        self.message = message
        self.got = got
        self.hint = hint
