"""What passes through while it is still being made: streams down, bodies up, WebSockets, and clients that leave."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from functools import partial

import httpx
import pytest

from tests.local.host.conftest import StartHost
from tests.local.host.driver import Host, Version, until
from tests.local.host.upstream import Upstream

PROXY = """
const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname;
    if (path === "/ai") return new Response(await env.AI.run("@cf/test/model", { prompt: "x", stream: true }));
    if (path === "/early") return new Response("too large", { status: 413 });
    const body = await request.arrayBuffer();
    if (path === "/digest") return new Response(hex(await crypto.subtle.digest("SHA-256", body)));
    if (path === "/length") return new Response(String(body.byteLength));
    const answer = await fetch(env.UPSTREAM + path);
    return new Response(answer.body, answer);
  },
};
"""


def proxy(host: Host, upstream: Upstream) -> None:
    version = Version({"index.js": PROXY}, bindings=[{"name": "UPSTREAM", "type": "plain_text", "text": upstream.url}])
    host.apply(host.worker("proxy", [(version, 100)]))


def test_wr_06_tokens_arrive_as_they_are_sent(host: Host, upstream: Upstream) -> None:
    proxy(host, upstream)
    heard = []
    with host.client.stream("GET", "/tokens") as answer:
        for line in filter(None, answer.iter_lines()):
            heard.append(line)
            upstream.go_on.release()
    assert heard == ["data: 0", "data: 1", "data: 2"]
    # Each token was here before the next one was made: nothing waits for the end.
    assert not upstream.waited_in_vain


def test_response_headers_arrive_before_the_first_byte_of_a_body(host: Host, upstream: Upstream) -> None:
    source = """
export default { fetch(_, env) {
  const { readable, writable } = new IdentityTransformStream();
  const late = async () => {
    const held = await fetch(env.UPSTREAM + "/held");
    await held.body.pipeTo(writable);
  };
  late();
  return new Response(readable, { headers: { "x-early": "yes" } });
} };
"""
    bindings = [{"name": "UPSTREAM", "type": "plain_text", "text": upstream.url}]
    host.apply(host.worker("late", [(Version({"index.js": source}, bindings=bindings), 100)]))
    with host.client.stream("GET", "/") as answer:
        assert answer.headers["x-early"] == "yes"
        upstream.go_on.release()
        assert answer.read() == b"late"
    assert not upstream.waited_in_vain


def test_the_ai_binding_calls_the_given_url_with_a_path(start: StartHost, upstream: Upstream) -> None:
    host = start(ai_url=f"{upstream.url}/secret/ai")
    version = Version({"index.js": PROXY}, bindings=[{"name": "AI", "type": "ai"}])
    host.apply(host.worker("ai", [(version, 100)]))
    assert host.get("/ai").status_code == 200
    method, path, headers, body = upstream.requests[-1]
    assert (method, path) == ("POST", "/secret/ai")
    assert headers["mf-url"].startswith("https://workers-binding.ai/run")
    assert json.loads(body)["inputs"] == {"prompt": "x", "stream": True}


@pytest.mark.parametrize("size", [0, 100_000])
def test_a_client_that_leaves_before_the_first_byte_ends_the_workers_own_request(
    host: Host, upstream: Upstream, size: int
) -> None:
    proxy(host, upstream)
    with socket.create_connection(("127.0.0.1", host.ready["front_port"])) as client:
        client.sendall(
            f"POST /hang HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n".encode() + bytes(size)
        )
        assert upstream.arrived.wait(5)
    assert upstream.gone.wait(2), "the upstream request went on after its client had left"


@pytest.mark.parametrize("megabytes", [2, 12])
def test_a_large_body_passes_whole_with_and_without_a_length(host: Host, upstream: Upstream, megabytes: int) -> None:
    proxy(host, upstream)
    body = os.urandom(megabytes << 20)

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(body), 50_000):
            yield body[at : at + 50_000]

    digest = hashlib.sha256(body).hexdigest()
    assert host.client.post("/digest", content=body).text == digest
    assert host.client.post("/digest", content=pieces()).text == digest


def test_wr_09_an_early_refusal_reaches_a_client_that_is_still_sending(host: Host, upstream: Upstream) -> None:
    proxy(host, upstream)
    body = b"x" * (12 << 20)

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(body), 1 << 16):
            yield body[at : at + (1 << 16)]

    for content in (body[: 2 << 20], body, pieces()):
        assert host.client.post("/early", content=content).status_code == 413
    assert host.client.post("/length", content=b"abc").text == "3"


def test_wr_09_a_body_over_the_plans_limit_is_refused_by_bytes_read(start: StartHost, upstream: Upstream) -> None:
    host = start(body_limit=1 << 20)
    proxy(host, upstream)

    def pieces() -> Iterator[bytes]:
        for _ in range(32):
            yield b"x" * (1 << 16)

    assert host.client.post("/length", content=b"x" * ((1 << 20) + 1)).status_code == 413
    assert host.client.post("/length", content=pieces()).status_code == 413
    assert host.client.post("/length", content=b"x" * (1 << 20)).text == str(1 << 20)


def test_expect_100_continue_is_answered_at_once(host: Host, upstream: Upstream) -> None:
    proxy(host, upstream)
    with socket.create_connection(("127.0.0.1", host.ready["front_port"]), timeout=5) as client:
        head = "POST /length HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\nexpect: 100-continue\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(b"abc")
        answer = client.recv(1000)
        while not answer.endswith(b"\r\n\r\n3"):
            answer += client.recv(1000)
        assert answer.startswith(b"HTTP/1.1 200")


ECHO = """
export default { fetch(request) {
  if (request.headers.get("upgrade") !== "websocket") return new Response("no", { status: 426 });
  const [client, server] = Object.values(new WebSocketPair());
  server.accept();
  server.addEventListener("message", (event) => server.send("echo " + event.data));
  return new Response(null, { status: 101, webSocket: client });
} };
"""


def frame(text: str) -> bytes:
    """A masked text frame with an all-zero mask."""
    return bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text.encode()


def test_a_websocket_passes_both_ways(host: Host) -> None:
    host.apply(host.worker("echo", [(Version({"index.js": ECHO}), 100)]))
    with socket.create_connection(("127.0.0.1", host.ready["front_port"]), timeout=5) as client:
        client.sendall(
            b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        head = client.recv(4000)
        assert head.startswith(b"HTTP/1.1 101")
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
        client.sendall(frame("one"))
        assert client.recv(100) == b"\x81\x08echo one"
    assert host.get().status_code == 426


SLOW = """
export default { async fetch(request) {
  if (new URL(request.url).pathname === "/slow") await scheduler.wait(700);
  return new Response("%s");
} };
"""


def test_a_reload_under_load_drops_no_request(host: Host) -> None:
    def world(number: int) -> Version:
        return Version({"index.js": SLOW % f"v{number}"}, number=number)

    host.apply(host.worker("load", [(world(1), 100)]))
    stop = threading.Event()
    statuses: list[int | str] = []
    seen: set[str] = set()

    def hammer(path: str) -> None:
        with httpx.Client(base_url=host.front, timeout=20) as client:
            while not stop.is_set():
                try:
                    answer = client.get(path)
                    statuses.append(answer.status_code)
                    seen.add(answer.text)
                except httpx.HTTPError as error:
                    statuses.append(repr(error))

    threads = [threading.Thread(target=hammer, args=(path,)) for path in ("/",) * 4 + ("/slow",)]
    for thread in threads:
        thread.start()
    try:
        for number in (2, 3):
            assert host.apply(host.worker("load", [(world(number), 100)]))["reloaded"] is True
            until(partial(seen.__contains__, f"v{number}"))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert set(statuses) == {200}
    assert seen == {"v1", "v2", "v3"}


def test_writes_to_kv_over_a_reload_are_all_there(host: Host) -> None:
    host.apply(host.worker("load", [(Version({"index.js": SLOW % "a"}), 100)]), kv=["n"])
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not stop.is_set():
            answer = host.admin.put(host.kv("n", str(len(written))), content=b"x")
            assert answer.status_code == 200, answer.text
            written.append(len(written))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in (2, 3):
            host.apply(host.worker("load", [(Version({"index.js": SLOW % number}, number=number), 100)]), kv=["n"])
        before = len(written)
        until(lambda: len(written) > before)
    finally:
        stop.set()
        thread.join()
    names = [entry["name"] for entry in host.admin.get("/kv/n/keys").json()["keys"]]
    assert sorted(map(int, names)) == written


def test_a_stream_longer_than_the_drain_limit_does_not_hold_a_reload_up(start: StartHost) -> None:
    host = start(drain_ms=200)
    source = """
export default { fetch() {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const run = async () => {
    for (;;) {
      await writer.write(new TextEncoder().encode("x"));
      await scheduler.wait(100);
    }
  };
  run();
  return new Response(readable);
} };
"""
    host.apply(host.worker("endless", [(Version({"index.js": source}), 100)]))
    with host.client.stream("GET", "/") as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"x"
        host.apply(host.worker("endless", [(Version({"index.js": SLOW % "new"}, number=2), 100)]))
        with pytest.raises(httpx.HTTPError):
            list(pieces)
    assert host.get().text == "new"
    until(lambda: host.events("requests are cut by a reload"))
    (cut,) = host.events("requests are cut by a reload")
    assert (cut["count"], cut["drain_ms"]) == (1, 200)
    assert host.events("requests are cut by a reload")


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "POST"])
@pytest.mark.parametrize("head", ["transfer-encoding: chunked", "content-length: 62\r\nconnection: content-length"])
def test_a_body_is_never_taken_for_the_next_request(host: Host, upstream: Upstream, method: str, head: str) -> None:
    proxy(host, upstream)
    inner = b"POST /digest HTTP/1.1\r\nhost: evil\r\ncontent-length: 1000000\r\n\r\n"
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner) if "chunked" in head else inner[:62]
    port = host.client.base_url.port or 0
    for path in ("/early", "/length"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{head}\r\n\r\n".encode() + body)
            assert client.recv(65_536).startswith((b"HTTP/1.1 200", b"HTTP/1.1 413")), path
    # Over the connections that those left behind.
    for _ in range(4):
        assert host.client.post("/length", content=b"12345").text == "5"


def test_a_body_that_the_worker_never_reads_spoils_no_later_request(host: Host, upstream: Upstream) -> None:
    proxy(host, upstream)
    for count in range(300):
        early = host.client.post("/early", content=iter([b"{}"] * (count % 3)))
        assert (early.status_code, early.text) == (413, "too large"), count
        assert host.client.post("/length", content=b"12345").text == "5", count


@pytest.mark.parametrize("count", range(12))
def test_wr_09_a_refusal_of_a_large_body_that_tells_no_length_reaches_its_sender(
    host: Host, upstream: Upstream, count: int
) -> None:
    proxy(host, upstream)
    pieces = (b"x" * 7_000 for _ in range(900))
    early = host.client.request(("POST", "OPTIONS", "PUT")[count % 3], "/early", content=pieces)
    assert (early.status_code, early.text) == (413, "too large")
