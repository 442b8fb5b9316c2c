"""What a stage that was killed has left is ended before the next one starts, and nobody else."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from sluiceway.local.daemon_host import PortInUse
from sluiceway.local.daemon_stage import _end_leftovers, bind
from sluiceway.processes import process_start


def record(data: Path, *processes: tuple[int, str]) -> None:
    (data / "data").mkdir()
    host, *children = ({"pid": pid, "start": start} for pid, start in processes)
    (data / "data" / "processes.json").write_text(json.dumps({"host": host, "children": children}))


def test_a_host_that_began_after_runtime_json_was_written_is_known_by_its_own_record(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as host, subprocess.Popen(["sleep", "60"]) as workerd:
        record(tmp_path, *((one.pid, process_start(one.pid) or "") for one in (host, workerd)))
        assert _end_leftovers(tmp_path, patience=0.1) is True
        assert [host.wait(10), workerd.wait(10)] == [-9, -9]


def test_a_process_that_got_a_recorded_pid_since_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        record(tmp_path, (stranger.pid, "1"))
        assert _end_leftovers(tmp_path, patience=0.1) is False
        assert stranger.poll() is None
        stranger.kill()


def test_a_broken_record_stops_no_start(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for text in ("", "[]", '{"host": 1}', '{"host": {"pid": "x", "start": "1"}, "children": []}'):
        (tmp_path / "data" / "processes.json").write_text(text)
        _end_leftovers(tmp_path, patience=0.1)


def test_a_port_that_is_given_back_late_is_waited_for_and_one_that_is_not_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(PortInUse):
            bind(port, "front")
        with pytest.raises(PortInUse):
            bind(port, "front", patience=0.1)
        threading.Timer(0.2, holder.close).start()
        bind(port, "front", patience=20.0).close()
