"""Processes that are killed: nothing is left over, nothing is lost, and the stage comes back."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx
import pytest

from sluiceway.local import lifecycle
from sluiceway.processes import is_same_process
from tests.local.daemon.conftest import all_gone, start, until

# Each kills and starts a whole stage; tests/e2e does so once.
pytestmark = pytest.mark.long


def test_after_kill_9_of_the_daemon_nothing_runs_on_and_the_next_start_recovers(data: Path) -> None:
    first = start(data)
    headers = {"authorization": f"Bearer {lifecycle.read_token(data)}"}
    namespaces = f"/accounts/{first.account_id}/storage/kv/namespaces"
    made = httpx.post(f"{first.api_url}{namespaces}", json={"title": "kept"}, headers=headers).json()
    value = f"{namespaces}/{made['result']['id']}/values/key"
    assert httpx.put(f"{first.api_url}{value}", content=b"value", headers=headers).status_code == 200
    os.kill(first.pid, signal.SIGKILL)
    assert until(lambda: not first.alive())
    assert lifecycle.read_runtime(data) is None
    assert lifecycle.status(data).state == "dead"
    second = start(data, front_port=int(first.front_url.rsplit(":", 1)[1]))
    assert all_gone(first, within=0.1)
    assert second.front_url == first.front_url
    assert httpx.get(f"{second.api_url}{value}", headers=headers).content == b"value"


def test_without_a_next_start_too_host_and_workerd_end_when_the_daemon_is_killed(data: Path) -> None:
    runtime = start(data)
    os.kill(runtime.pid, signal.SIGKILL)
    assert all_gone(runtime)


def test_a_host_that_is_killed_is_started_again_with_the_same_port_and_world(data: Path) -> None:
    first = start(data)
    headers = {"authorization": f"Bearer {lifecycle.read_token(data)}"}
    namespaces = f"/accounts/{first.account_id}/storage/kv/namespaces"
    made = httpx.post(f"{first.api_url}{namespaces}", json={"title": "kept"}, headers=headers).json()
    value = f"{first.api_url}{namespaces}/{made['result']['id']}/values/key"
    assert httpx.put(value, content=b"value", headers=headers).status_code == 200
    os.kill(first.host_pid, signal.SIGKILL)

    def back() -> bool:
        now = lifecycle.read_runtime(data)
        return now is not None and now.host_pid != first.host_pid

    assert until(back)
    second = lifecycle.require_runtime(data)
    assert (second.pid, second.front_url, second.api_url) == (first.pid, first.front_url, first.api_url)
    assert httpx.get(value, headers=headers).content == b"value"
    assert httpx.get(second.front_url).status_code >= 400
    assert until(lambda: not is_same_process(first.workerd_pid or 0, first.workerd_start))
    assert any("starting it again" in line for line in lifecycle.logs(data, which="control"))


def test_a_daemon_that_hangs_is_killed_by_stop_with_its_children(data: Path) -> None:
    runtime = start(data)
    os.kill(runtime.pid, signal.SIGSTOP)
    assert lifecycle.status(data).state == "unresponsive"
    assert lifecycle.stop(data, timeout=1.0) is True
    assert all_gone(runtime, within=0.5)
