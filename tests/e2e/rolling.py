"""What a rollout's journal and splits must be whatever is killed, and how it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import httpx

from sluiceway.domain.split import Split, choose, point
from tests.e2e.asking import People
from tests.e2e.checkout import Checkout
from tests.e2e.conftest import Served

FOLLOWS_MS = 3000
PATIENCE_S = 90.0


def looked(served: Served, path: str) -> Any:  # noqa: ANN401 - a JSON document
    """What the gateway itself says of its rollouts; a host that is just being started again is waited for."""
    key = (served.checkout.root / ".sluiceway/local/admin-key").read_text().strip()
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            headers = {"authorization": f"Bearer {key}"}
            got = httpx.get(f"{served.url}/_sluiceway/rollouts{path}", headers=headers, timeout=30, trust_env=False)
            return got.raise_for_status().json()
        except httpx.HTTPError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def journal(served: Served, model: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = looked(served, f"/journal?model={model}&limit=500")["entries"]
    return found


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.2)


def grown(served: Served, before: list[dict[str, Any]], model: str = "talk") -> list[dict[str, Any]]:
    """The journal of a model: what was there still is, and the split is that of an entry."""
    earlier = journal(served, model)
    weights = looked(served, f"/{model}")["weights"]
    now = journal(served, model)
    assert now[: len(before)] == before and now[: len(earlier)] == earlier
    assert weights in [entry["weights"] for entry in now[len(earlier) - 1 :]]
    return now


def kill(checkout: Checkout, whom: str) -> None:
    """``kill -9`` of the ``host``, of ``workerd`` or of the ``daemon``, and waits until another one serves."""
    runtime = json.loads((checkout.root / ".sluiceway/local/runtime.json").read_text())
    host, url = runtime["host_pid"], str(runtime["front_url"])
    for pid in {"host": [host], "daemon": [runtime["pid"]]}.get(whom) or workerds(host):
        os.kill(pid, signal.SIGKILL)
    if whom == "daemon":
        # Whoever holds the others up is started by a person, where it was before.
        ports = [("--port", url), ("--api-port", str(runtime["api_url"]))]
        words = [word for option, at in ports for word in (option, str(httpx.URL(at).port))]
        started = checkout.sluiceway("local", "start", *words)
        assert started.code == 0, started.err

    def serves() -> bool:
        try:
            return httpx.get(f"{url}/healthz", timeout=5, trust_env=False).is_success
        except httpx.HTTPError:
            return False

    wait_for(serves)


def workerds(host: int) -> list[int]:
    """The children of the Node host: with each deployment there is another one."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout
    pairs = (line.split() for line in listed.splitlines())
    found = [int(pid) for pid, parent in pairs if int(parent) == host]
    assert found
    return found


def misled(people: People, entries: list[dict[str, Any]]) -> list[object]:
    """Answers of a version that no split of that time, or of shortly before, gives to that user."""
    found: list[object] = []
    for answer in people.answers:
        if answer.version is None:
            continue
        ends = [entry["at"] for entry in entries[1:]] + [float("inf")]
        lately = [
            entry["weights"]
            for entry, end in zip(entries, ends, strict=True)
            if entry["at"] <= answer.asked + FOLLOWS_MS and end > answer.asked - FOLLOWS_MS
        ]
        splits = [Split(tuple((version, weight) for version, weight in weights)) for weights in lately]
        # An isolate that has just begun, and can't reach the controller, sends everybody to stable.
        rightful = {1, *(choose(split, point("talk", answer.user)) for split in splits)}
        if answer.version not in rightful:
            found.append((answer, lately))
    return found
