"""A value that a rule refuses, as the rule sees it: the one who read the value adds where it stood."""

from __future__ import annotations

from typing import Final

NOTHING: Final = object()


class Fault(ValueError):
    """``message`` says the rule, ``got`` what broke it (``NOTHING`` when the message says it), ``hint`` what to do.

    ``at``: where inside the value it stood, when the value is a block: ``.steps[1].weight``.
    """

    def __init__(self, message: str, *, hint: str, got: object = NOTHING, at: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.got = got
        self.hint = hint
        self.at = at
