"""A hub on loopback: of its API what a snapshot of one commit needs."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REVISION = "c" * 40
MODEL = "org/tiny"


class Hub:
    """``files``: those of MODEL at REVISION. ``error``: an X-Error-Code and a status for every answer."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.error: tuple[str, int] | None = None
        self.asked: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def fetched(self) -> list[str]:
        """Names of the files whose bytes were asked for."""
        return sorted(path.rpartition(f"/{REVISION}/")[2] for path in self.asked if "/resolve/" in path)

    def tree(self) -> bytes:
        rows = [
            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            for name, data in self.files.items()
        ]
        return json.dumps(rows).encode()

    def answer(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        if self.error:
            return self.error[1], b"{}", {"X-Error-Code": self.error[0]}
        if path == f"/api/models/{MODEL}/tree/{REVISION}":
            return 200, self.tree(), {"Content-Type": "application/json"}
        data = self.files.get(path.removeprefix(f"/{MODEL}/resolve/{REVISION}/"))
        if data is None:
            return 404, b"{}", {"X-Error-Code": "EntryNotFound"}
        return 200, data, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": REVISION}

    def _handler(hub) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(body=False)

            def do_GET(self) -> None:
                hub.asked.append(self.path)
                self._answer(body=True)

            def _answer(self, body: bool) -> None:
                status, data, headers = hub.answer(self.path.partition("?")[0])
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if body:
                    self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
