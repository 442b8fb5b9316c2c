"""Starting, finding, stopping and emptying a local stage."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from sluiceway.errors import UserError
from sluiceway.local import lifecycle
from sluiceway.local.lifecycle_code import fingerprint
from sluiceway.local.runtime_file import Runtime
from sluiceway.progress import Progress
from tests.local.daemon.conftest import all_gone, start, until
from tests.node import NODE

pytestmark = pytest.mark.long

STARTER = (
    "import sys; from pathlib import Path; from sluiceway.local import lifecycle; "
    "from sluiceway.progress import Progress; "
    "print(lifecycle.start(Path(sys.argv[1]), front_port=0, api_port=0, node=Path(sys.argv[2]), "
    "progress=Progress()).pid)"
)


def starter(data: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STARTER, str(data), str(NODE)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_stage_answers_as_soon_as_it_is_started(running: tuple[Path, Runtime]) -> None:
    data, runtime = running
    token = lifecycle.read_token(data)
    with httpx.Client(headers={"authorization": f"Bearer {token}"}) as client:
        verified = client.get(f"{runtime.api_url}/user/tokens/verify")
        assert verified.json()["result"]["status"] == "active"
        asked = {"model": "@cf/zai-org/glm-4.7-flash", "messages": [{"role": "user", "content": "#count 2"}]}
        answer = client.post(f"{runtime.api_url}/accounts/{runtime.account_id}/ai/v1/chat/completions", json=asked)
        assert answer.json()["choices"][0]["message"]["content"] == "1 2"
        assert client.get(runtime.front_url).status_code >= 400  # no Worker yet, but somebody answers
        assert client.get(f"{runtime.ai_url}/_local/health").json() == {"ok": True}


def test_a_second_start_finds_the_first(running: tuple[Path, Runtime]) -> None:
    data, runtime = running
    assert start(data) == runtime
    status = lifecycle.status(data)
    assert (status.state, status.runtime) == ("running", runtime)


def test_a_stage_that_runs_older_code_is_told_of(
    running: tuple[Path, Runtime], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, runtime = running
    start(data)
    assert "older code" not in capsys.readouterr().err
    monkeypatch.setattr(lifecycle, "fingerprint", lambda: "another")
    assert start(data) == runtime
    assert "older code" in capsys.readouterr().err


def test_the_code_of_a_stage_changes_with_any_of_its_sources(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "main.ts").write_text("1")
    before = fingerprint(tmp_path)
    assert fingerprint(tmp_path) == before
    (tmp_path / "host" / "main.ts").write_text("2")
    after = fingerprint(tmp_path)
    (tmp_path / "note.txt").write_text("no source")
    assert before != after == fingerprint(tmp_path)


def test_what_is_private_is_readable_by_its_owner_alone(running: tuple[Path, Runtime]) -> None:
    data, _ = running
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    for name in ("runtime.json", "token", "logs/control.log", "logs/workers.log", "state.sqlite"):
        assert stat.S_IMODE((data / name).stat().st_mode) == 0o600, name


def test_no_secret_is_in_logs_or_arguments(running: tuple[Path, Runtime]) -> None:
    data, runtime = running
    token = lifecycle.read_token(data)
    for log in (data / "logs").iterdir():
        assert token not in log.read_text(encoding="utf-8"), log
    for pid in (runtime.pid, runtime.host_pid):
        shown = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=True)
        assert shown.stdout.strip()
        assert token not in shown.stdout


def test_reset_refuses_while_the_stage_runs(running: tuple[Path, Runtime]) -> None:
    data, runtime = running
    with pytest.raises(UserError, match="running") as caught:
        lifecycle.reset(data)
    assert "stop" in (caught.value.hint or "")
    assert lifecycle.read_runtime(data) == runtime
    assert (data / "token").exists()


def test_stop_ends_every_process_and_start_brings_the_state_back(data: Path) -> None:
    first = start(data)
    token = lifecycle.read_token(data)
    headers = {"authorization": f"Bearer {token}"}
    namespaces = f"/accounts/{first.account_id}/storage/kv/namespaces"
    made = httpx.post(f"{first.api_url}{namespaces}", json={"title": "kept"}, headers=headers).json()
    assert made["success"], made
    assert lifecycle.stop(data) is True
    assert all_gone(first, within=0.1)
    assert lifecycle.read_runtime(data) is None
    assert lifecycle.status(data).state == "stopped"
    assert lifecycle.stop(data) is False
    second = start(data)
    assert lifecycle.read_token(data) == token
    found = httpx.get(f"{second.api_url}{namespaces}", headers=headers).json()["result"]
    assert [each["title"] for each in found] == ["kept"]
    lifecycle.reset(data, stop_first=True)
    assert all_gone(second, within=0.1)
    assert [each.name for each in data.iterdir()] in ([], ["start.lock"])


def test_two_starts_at_once_get_one_stage_and_print_nothing_else(data: Path) -> None:
    starters = [starter(data) for _ in range(3)]
    told = [each.communicate(timeout=90) for each in starters]
    assert [each.returncode for each in starters] == [0, 0, 0], told
    runtime = lifecycle.require_runtime(data)
    assert [out for out, _ in told] == [f"{runtime.pid}\n"] * 3
    for _, err in told:
        assert all(line.startswith("starting the local stage") for line in err.splitlines()), err


def test_a_starter_that_is_killed_leaves_a_stage_that_the_next_one_finds(data: Path) -> None:
    first = starter(data)
    assert until((data / "daemon.pid").exists)
    first.kill()
    first.communicate()
    pid = int((data / "daemon.pid").read_text().split()[0])
    assert start(data).pid == pid


@pytest.mark.parametrize("which", ["front_port", "api_port"])
def test_a_port_in_use_is_one_clear_error_and_changes_nothing(data: Path, which: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} is in use") as caught:
            start(data, **{which: port})
    assert caught.value.exit_code == 2
    assert caught.value.path in ("SLUICEWAY_LOCAL_PORT", "SLUICEWAY_LOCAL_API_PORT")
    assert "sluiceway local start --" in (caught.value.hint or "")
    assert lifecycle.status(data).state == "stopped"
    assert not (data / "token").exists()


def test_an_idle_connection_is_kept_longer_than_clients_keep_theirs(running: tuple[Path, Runtime]) -> None:
    """A client that lets go after five seconds must never meet a server that does so at the same moment."""
    _, runtime = running
    urls = (runtime.api_url, runtime.host_admin_url, runtime.front_url)
    lines = [HTTPConnection("127.0.0.1", urlsplit(url).port, timeout=10) for url in urls]
    for line in lines:
        line.connect()
        line.auto_open = 0  # one that was closed stays closed
    for _ in range(2):
        for line in lines:
            line.request("GET", "/")
            line.getresponse().read()
        time.sleep(7)
    for line in lines:
        line.close()


_STOLEN = """
import sys
from sluiceway.local import daemon, daemon_stage
find, taken = daemon_stage._listen, [int(sys.argv.pop(1))]
def stolen(ports, stack, *more):
    listener, front = find(ports, stack, *more)
    return listener, taken.pop() if taken else front
daemon_stage._listen = stolen
sys.exit(daemon.main(sys.argv[1:]))
"""


def test_a_free_port_that_is_given_to_another_program_before_the_host_has_it_is_replaced(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        options = ["--data", str(data), "--node", str(NODE), "--front-port", "0", "--api-port", "0"]
        stage = subprocess.Popen([sys.executable, "-c", _STOLEN, port, *options])
        try:
            assert until(lambda: lifecycle.status(data).state == "running")
            assert not lifecycle.require_runtime(data).front_url.endswith(f":{port}")
        finally:
            lifecycle.stop(data)
            assert stage.wait(timeout=20) == 0


@pytest.mark.parametrize(("front", "api"), [(70_000, 0), (0, -1)])
def test_a_port_that_is_none_is_refused(data: Path, front: int, api: int) -> None:
    with pytest.raises(UserError, match="0 to 65535"):
        start(data, front_port=front, api_port=api)


def test_a_node_that_is_not_there_is_told_by_its_path(data: Path) -> None:
    with pytest.raises(UserError, match="/no/such/node"):
        lifecycle.start(data, front_port=0, api_port=0, node=Path("/no/such/node"), progress=Progress())
    assert lifecycle.status(data).state == "stopped"


def test_run_by_hand_it_tells_a_port_in_use_on_stderr_with_exit_code_2(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "sluiceway.local.daemon", "--data", str(data), "--node", str(NODE)]
        done = subprocess.run(
            [*command, "--api-port", port, "--front-port", "0"], capture_output=True, text=True, check=False, timeout=60
        )
    assert done.returncode == 2
    assert f"port {port} is in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_dead_stage_is_an_error_that_says_how_to_start_it(data: Path) -> None:
    for call in (lifecycle.require_runtime, lifecycle.read_token):
        with pytest.raises(UserError) as caught:
            call(data)
        assert caught.value.hint == "sluiceway local start"


def test_a_runtime_file_that_names_a_stranger_stops_nobody(data: Path, running: tuple[Path, Runtime]) -> None:
    _, runtime = running
    data.mkdir()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        text = (running[0] / "runtime.json").read_text()
        for old in processes_text(runtime):
            text = text.replace(old, f": {stranger.pid}")
        (data / "runtime.json").write_text(text)
        (data / "daemon.pid").write_text(f"{stranger.pid} 12345\n")
        assert lifecycle.read_runtime(data) is None
        assert lifecycle.status(data).state == "dead"
        assert lifecycle.stop(data) is False
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def processes_text(runtime: Runtime) -> list[str]:
    return [f": {pid}" for pid in (runtime.pid, runtime.host_pid, runtime.workerd_pid)]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "process_start": null}'])
def test_a_runtime_file_that_is_broken_counts_as_none(data: Path, text: str) -> None:
    data.mkdir()
    (data / "runtime.json").write_text(text)
    assert lifecycle.read_runtime(data) is None
