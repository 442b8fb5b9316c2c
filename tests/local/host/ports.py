"""Takes a runtime's ports the moment they are free, as an unlucky connection of another program does."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"


def listening(pid: int) -> list[int]:
    """The TCP ports that process ``pid`` listens on."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            inodes.add(str(entry.readlink()))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(one[1].split(":")[1], 16) for one in lines if one[3] == _LISTENS and f"socket:[{one[9]}]" in inodes]


class Thief:
    """Tries to bind ``ports`` until it has got one, within ``limit`` seconds."""

    def __init__(self, ports: list[int], limit: float = 20.0) -> None:
        self.got: socket.socket | None = None
        self._deadline = time.monotonic() + limit
        self._thread = threading.Thread(target=self._steal, args=(ports,), daemon=True)
        self._thread.start()

    def _steal(self, ports: list[int]) -> None:
        while self.got is None and time.monotonic() < self._deadline:
            for port in ports:
                one = socket.socket()
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    one.bind(("127.0.0.1", port))
                    one.listen()
                    self.got = one
                    return
                except OSError:
                    one.close()
            time.sleep(0.0005)

    def close(self) -> bool:
        """Gives the port back; True if one was had."""
        self._deadline = 0.0
        self._thread.join()
        if self.got:
            self.got.close()
        return self.got is not None
