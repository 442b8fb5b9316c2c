"""20,000 hostile requests: no answer that is our fault, none that hangs, no memory lost, and the stage still serves."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.e2e.checkout import Checkout
from tests.e2e.conftest import Served, bring_up
from tests.e2e.hostile import Hostile, requests

pytestmark = pytest.mark.long

SEEDS = (4, 20, 260, 3_600, 47_000, 580_000, 6_900_000, 71_000_000)
"""Kept, so that a run can be had again; a new fault's seed is added."""
EACH = 2_500
PATIENCE = 30  # seconds: far over every timeout of a scripted answer
# What an upstream's scripted failure may become. 500 is ours alone, and never right.
ALLOWED = {200, 204, 206, 304, 400, 401, 402, 403, 404, 405, 408, 411, 413, 414, 415, 422, 429, 431, 501, 502, 503, 504}


@pytest.fixture
def target(fresh: Callable[[], Checkout]) -> Served:
    """A stage of the fuzz's own: what it leaves in logs, ledgers and circuits is no other test's."""
    return bring_up(fresh())


class Sender:
    """One connection, opened again when the server closed it."""

    def __init__(self, target: Served) -> None:
        self.url = urlsplit(target.url)
        self.key = target.key
        self.connection = self._open()

    def _open(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=PATIENCE)

    def send(self, one: Hostile) -> tuple[int, bytes]:
        try:
            return self._send(one)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The server may close a connection whose body it won't read: the request is sent once more, alone.
            self.connection.close()
            self.connection = self._open()
            return self._send(one)

    def _send(self, one: Hostile) -> tuple[int, bytes]:
        connection = self.connection
        connection.putrequest(one.method, one.path, skip_accept_encoding=True)
        for name, value in one.headers:
            connection.putheader(name, value.encode("latin-1"))
        if one.with_key:
            connection.putheader("authorization", f"Bearer {self.key}")
        if one.chunked:
            connection.putheader("transfer-encoding", "chunked")
            connection.endheaders(_chunks(one.body), encode_chunked=False)
        else:
            connection.putheader("content-length", str(len(one.body)))
            connection.endheaders(one.body)
        answer = connection.getresponse()
        return answer.status, answer.read()


def _chunks(body: bytes) -> bytes:
    cuts = [body[at : at + 7_000] for at in range(0, len(body), 7_000)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in cuts) + b"0\r\n\r\n"


def fault_of(one: Hostile, status: int, body: bytes) -> str | None:
    """What is wrong with an answer, if anything."""
    if status not in ALLOWED:
        return f"{status} {body[:500]!r} to {one}"
    if status < 400 or one.method == "HEAD":
        return None
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return f"{status} with no error of ours, {body[:500]!r}, to {one}"
    told = error["message"] and error["code"] and error["request_id"] and error["code"] != "internal_error"
    return None if told else f"{status} {error} to {one}"


def workerd_memory(target: Served) -> int:
    """Bytes that the stage's workerd holds."""
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
            cwd = str((process / "cwd").readlink()) if process.name.isdigit() else ""
        except OSError:
            continue
        if command[0].endswith(b"workerd") and cwd.startswith(str(target.checkout.root)):
            return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    raise AssertionError("no workerd of this stage was found")


def ask(target: Served) -> str:
    url = urlsplit(target.url)
    with closing(http.client.HTTPConnection(url.hostname or "", url.port, timeout=PATIENCE)) as connection:
        headers = {"authorization": f"Bearer {target.key}", "content-type": "application/json"}
        connection.request("POST", "/", json.dumps({"prompt": "repeat after me: still here"}), headers)
        answer = connection.getresponse()
        return str(json.loads(answer.read())["response"]["text"])


def run(target: Served, number: int, count: int) -> list[str]:
    """Sends ``count`` requests; what was wrong with the answers."""
    sender = Sender(target)
    faults: list[str] = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(requests())
    def hostile(one: Hostile) -> None:
        # Noted, not thrown: the rest of the seed is worth sending too, and some requests are too large to be printed.
        try:
            fault = fault_of(one, *sender.send(one))
        except (OSError, http.client.HTTPException) as error:
            fault = f"{type(error).__name__} {error} from {one}"
        if fault is not None:
            faults.append(fault)

    with closing(sender.connection):
        hostile()
    return faults


def test_hostile_requests_are_answered_and_leave_nothing_behind(target: Served) -> None:
    half = len(SEEDS) // 2
    held = []
    for number in SEEDS:
        assert run(target, number, EACH) == [], f"seed {number}"
        assert ask(target) == "still here", f"after seed {number}"
        held.append(workerd_memory(target))
    # Heaps fill up to their limits first: seen here, from 255 to 480 MB in the first half, then by 14 in the second.
    # On a busy machine they take longer to: then the last step must be flat, where a leak is as steep as before.
    grown, still = held[-1] / held[half], held[-1] / held[-2]
    flat = grown < 1.15 or still < 1.05
    assert flat, f"workerd grew {grown:.2f} times over the last {EACH * (half - 1)} requests: {held}"
