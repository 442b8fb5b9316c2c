"""How a starting daemon talks to whoever starts it: JSON lines on a pipe, then silence.

    {"note": "starting workerd"}
    {"ready": true}
    {"error": {"message", "path", "hint"}, "exit_code": 2}

Without a pipe (the daemon run by hand) the same is told on stderr in plain words.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field

from sluiceway.errors import SluicewayError


@dataclass
class Reporter:
    """``descriptor`` is the writing end of the starter's pipe, or None."""

    descriptor: int | None = None
    _open: bool = field(default=True, init=False)

    def note(self, text: str) -> None:
        self._send({"note": text}, text)

    def ready(self) -> None:
        self._send({"ready": True}, "ready")
        self.close()

    def failed(self, error: SluicewayError) -> None:
        told = {"message": error.message, "path": error.path, "hint": error.hint}
        # The pipe stays open until this process is gone: that is what the starter waits for.
        self._send({"error": told, "exit_code": error.exit_code}, error.render())

    def close(self) -> None:
        if self.descriptor is not None and self._open:
            os.close(self.descriptor)
        self._open = False

    def _send(self, message: dict[str, object], plain: str) -> None:
        if not self._open:
            return
        if self.descriptor is None:
            print(plain, file=sys.stderr, flush=True)
            return
        try:
            os.write(self.descriptor, (json.dumps(message) + "\n").encode())
        except BrokenPipeError:  # the starter was interrupted; the stage goes on without it
            self.close()
