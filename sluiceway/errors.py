"""What can go wrong, as people see it.

    SluicewayError      exit 1   something failed: a service, a build, a disk
    ├── UserError       exit 2   what was asked for can't be done as asked
    └── GateAborted     exit 3   a gate ended a rollout

Each error carries where it was found (``path``), what is wrong (``message``), what was got
(``got``) and what to do about it (``hint``), and prints in that order. Values that may hold a
secret are never passed as ``got``.
"""

from __future__ import annotations

from typing import Final

_NOT_GIVEN: Final = object()


class SluicewayError(Exception):
    """A failure that is told to a person in one block of text."""

    exit_code: int = 1

    def __init__(
        self, message: str, *, path: str | None = None, got: object = _NOT_GIVEN, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.got = None if got is _NOT_GIVEN else got
        self.has_got = got is not _NOT_GIVEN
        self.hint = hint

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        what = f", got {self.got!r}" if self.has_got else ""
        return f"{where}{self.message}{what}"

    def render(self) -> str:
        """The text that the command line prints: the error, then its hint on a line of its own."""
        lines = [f"error: {self}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """The same for ``--json``: keys ``error``, ``path``, ``got``, ``hint``, ``exit_code``."""
        return {
            "error": self.message,
            "path": self.path,
            "got": repr(self.got) if self.has_got else None,
            "hint": self.hint,
            "exit_code": self.exit_code,
        }


class UserError(SluicewayError):
    """What the person asked for, or wrote in a file, can't be done; nothing was changed. ``hint`` says what to do."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str, path: str | None = None, got: object = _NOT_GIVEN) -> None:
        super().__init__(message, path=path, got=got, hint=hint)


class GateAborted(SluicewayError):
    """A gate failed and the rollout was aborted."""

    exit_code = 3
