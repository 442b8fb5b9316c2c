"""A small HTTP server that tests look into: what came, and when a client went away."""

from __future__ import annotations

import json
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Upstream:
    """Answers POST /sink (kept in ``events``), /hang (never answers; ``gone`` is set when the client leaves),
    /tokens (three chunks) and /held (``late``), with a chunk that is not the first only once ``go_on`` is released:
    else, after a while, it is ``waited_in_vain``; anything else with a JSON echo."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.go_on = threading.Semaphore(0)
        self.waited_in_vain = False
        self.arrived = threading.Event()
        self.gone = threading.Event()
        self._stop = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self._stop.set()
        self.server.shutdown()
        self.server.server_close()

    def named(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]

    def hold(self) -> None:
        if not self.waited_in_vain and not self.go_on.acquire(timeout=10):
            self.waited_in_vain = True

    def hang(self, connection: socket.socket) -> None:
        self.arrived.set()
        while not self._stop.is_set():
            readable, _, _ = select.select([connection], [], [], 0.02)
            if not readable:
                continue
            try:
                left = connection.recv(1, socket.MSG_PEEK) == b""
            except ConnectionError:
                left = True
            if left:
                self.gone.set()
            return

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (Handler,), {"upstream": self})


class Handler(BaseHTTPRequestHandler):
    upstream: Upstream

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer(body)

    def answer(self, body: bytes) -> None:
        if self.headers.get("upgrade"):
            self.reply(b"no upgrade here", 400)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.upstream.requests.append((self.command, self.path, headers, body))
        if self.path == "/sink":
            self.upstream.events.extend(json.loads(body))
            self.reply(b"{}")
        elif self.path == "/hang":
            self.upstream.hang(self.connection)
            self.close_connection = True
        elif self.path == "/tokens":
            self.tokens()
        elif self.path == "/held":
            self.upstream.hold()
            self.reply(b"late")
        else:
            self.reply(json.dumps({"path": self.path, "body": body.decode()}).encode())

    def reply(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def tokens(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number in range(3):
            if number:
                self.upstream.hold()
            self.wfile.write(f"data: {number}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True
