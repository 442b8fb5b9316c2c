"""Whoever is not the host: a web page of the same machine, a name bound anew to loopback, a program of another user.

Each port that the stage listens on is either public or says no, whatever is sent to it.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.local.host.driver import Host, says

KV = "0" * 32
STRANGERS = {
    "a page": {"origin": "http://evil.example", "content-type": "text/plain", "sec-fetch-site": "cross-site"},
    "a name bound anew": {"host": "evil.example:{port}"},
    "a program": {},
}
STRANGER = httpx.Client(timeout=10, limits=httpx.Limits(max_keepalive_connections=0))
# By these miniflare's entry is steered.
STEERED = {"mf-route-override": "sluiceway:admin", "mf-original-url": f"http://127.0.0.1/kv/{KV}"}


@pytest.fixture
def serving(host: Host) -> Iterator[Host]:
    host.apply(host.worker("w", [(says("mine"), 100)]), kv=[KV])
    assert host.admin.put(f"/kv/{KV}/values/mine", content="secret").status_code == 200
    yield host
    assert host.client.get("/").text == "mine"
    assert host.admin.get(f"/kv/{KV}/values/mine").text == "secret"


def inner_ports(host: Host) -> list[int]:
    """What host and runtime listen on, but for the front."""
    inodes = set()
    for pid in (host.process.pid, host.admin.get("/health").json()["workerd_pid"]):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed while we look
                found = re.fullmatch(r"socket:\[(\d+)\]", str(handle.readlink()))
                inodes |= {found[1]} if found else set()
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ports = [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]
    return sorted(set(ports) - {host.ready["front_port"]})


def told(method: str, url: str, headers: dict[str, str], content: str | None = None) -> str:
    """What a stranger gets to read; nothing when the connection is cut."""
    try:
        return STRANGER.request(method, url, headers=headers, content=content).text
    except httpx.TransportError:
        return ""


def headers_of(who: str, port: int) -> dict[str, str]:
    return {name: value.format(port=port) for name, value in STRANGERS[who].items()}


@pytest.mark.parametrize("who", STRANGERS)
def test_no_port_lets_a_stranger_read_or_change_what_is_stored_or_routed(serving: Host, who: str) -> None:
    ports = inner_ports(serving)
    assert len(ports) >= 5, "host admin, helper server, entry, router, router's admin, storage"
    table = '{"main":null,"suffix":"x","domains":{},"routes":[],"workers":{},"limits":[]}'
    for port in ports:
        base, headers = f"http://127.0.0.1:{port}", headers_of(who, port)
        for more in ({}, {"x-key": "mine"}, {"x-key": "mine", **STEERED}):
            for method in ("GET", "POST", "PUT", "DELETE"):
                content = None if method == "GET" else table
                text = told(method, f"{base}/kv/{KV}", {**headers, **more}, content)
                assert "secret" not in text and '"keys"' not in text, (port, method, more)
        for method in ("POST", "PUT"):
            told(method, base, headers, table)


@pytest.mark.parametrize("who", STRANGERS)
def test_no_port_writes_a_file_for_a_stranger(serving: Host, tmp_path: Path, who: str) -> None:
    target = quote(f"x/../../../../../../../../../../..{tmp_path}/written", safe="")
    for port in inner_ports(serving):
        for path in ("/core/store-temp-file", "/any"):
            headers = headers_of(who, port)
            for more in ({}, {"connection": "Upgrade", "upgrade": "websocket"}):
                for method in ("GET", "POST"):
                    told(method, f"http://127.0.0.1:{port}{path}?extension={target}", {**headers, **more}, "mine now")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/cdn-cgi/local/r2/s3/x", "/cdn-cgi/local/r2/s3", "/"])
def test_the_public_port_can_not_be_steered_to_another_worker(serving: Host, path: str) -> None:
    for more in ({}, {"x-key": "mine"}):
        answer = serving.client.get(path, headers={**STEERED, **more})
        assert "secret" not in answer.text and '"keys"' not in answer.text


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example",
        "GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1",
        "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1",
        "GET / HTTP/1.0",
    ],
)
def test_a_request_that_is_unclear_about_its_target_is_a_mistake_and_no_failure(serving: Host, head: str) -> None:
    with socket.create_connection(("127.0.0.1", serving.ready["front_port"]), timeout=10) as one:
        one.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode())
        assert one.recv(4096).startswith(b"HTTP/1.1 400 ")
