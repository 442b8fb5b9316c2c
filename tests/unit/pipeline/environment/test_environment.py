"""An environment of its own: made once, whole or not at all. pip is a stand-in that says what pip says."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.environment import environment, install
from sluiceway.pipeline.torch_export.environment import TORCH
from sluiceway.progress import Progress

Note = Callable[[str], None]


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The environments that were filled: by a stand-in, and tried by nobody."""
    made: list[Path] = []

    def packages(asked: install.Packages, folder: Path, note: Note) -> None:
        assert asked.lock.is_file()
        time.sleep(0.2)  # long enough for a second one to ask
        made.append(folder)

    def run(command: list[str], whose: str, hint: str) -> None:
        if "venv" in command:
            python = Path(command[-1], "bin", "python")
            python.parent.mkdir(parents=True)
            python.touch()

    monkeypatch.setattr(install.Packages, "install", packages)
    monkeypatch.setattr(install, "run_python", run)
    return made


def quiet() -> Progress:
    return Progress(out=io.StringIO())


def test_it_is_made_on_the_first_call_and_kept_by_its_lock(tmp_path: Path, filled: list[Path]) -> None:
    first = TORCH.python(quiet(), tmp_path)
    assert first == tmp_path / TORCH.digest() / "bin" / "python"
    assert first.is_file()
    assert TORCH.python(quiet(), tmp_path) == first
    assert len(filled) == 1
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [TORCH.digest()]


def test_two_that_ask_at_once_get_one_installation(tmp_path: Path, filled: list[Path]) -> None:
    got: list[Path] = []
    threads = [threading.Thread(target=lambda: got.append(TORCH.python(quiet(), tmp_path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got[0] == got[1]
    assert len(filled) == 1


def test_a_failure_leaves_nothing_behind(tmp_path: Path, filled: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(asked: install.Packages, folder: Path, note: Note) -> None:
        (folder / "half").write_text("a package")
        raise asked.failure("ERROR: [Errno 28] No space left on device")

    monkeypatch.setattr(install.Packages, "install", broken)
    with pytest.raises(UserError, match="full"):
        TORCH.python(quiet(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_what_a_killed_installation_left_is_swept(tmp_path: Path, filled: list[Path]) -> None:
    (tmp_path / ".making-1" / "bin").mkdir(parents=True)
    TORCH.python(quiet(), tmp_path)
    assert not (tmp_path / ".making-1").exists()


def test_too_small_a_disk_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="free disk") as caught:
        TORCH.require_space(tmp_path, 10**9)
    assert "SLUICEWAY_CACHE_DIR" in (caught.value.hint or "")
    TORCH.require_space(tmp_path, 10**11)


def test_environments_that_nobody_used_for_a_month_go(tmp_path: Path) -> None:
    now = 10_000_000.0
    for name, days in (("old", 40), ("fresh", 3), ("kept", 50)):
        stamp = tmp_path / name / "installed"
        stamp.parent.mkdir()
        stamp.touch()
        os.utime(stamp, (now, now - days * 86_400))
    environment.prune(tmp_path, tmp_path / "kept", now)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "kept"]


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, code: int) -> Path:
    """An environment, and a pip that prints ``says`` and what it was asked."""
    python = tmp_path / "pip"
    said = tmp_path / "says"
    said.write_text(says, encoding="utf-8")
    python.write_text(f'#!/bin/sh\necho "$TMPDIR $@" > "$0.asked"\ncat "{said}"\nexit {code}\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    (site / "nvidia" / "cudnn" / "lib").mkdir(parents=True)
    (site / "torch" / "include").mkdir(parents=True)
    for name in ("libcudnn.so.9", "libcudnn_ops.so.9"):
        (site / "nvidia" / "cudnn" / "lib" / name).touch()
    return tmp_path / "env"


def test_packages_are_fetched_beside_the_environment_and_only_with_their_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = "Collecting a\n  Downloading a-1.whl (539.1 MB)\n  Downloading b-1.whl (1.5 GB)\nInstalling collected: a\n"
    folder = stand_in(tmp_path, monkeypatch, says, 0)
    notes: list[str] = []
    TORCH.packages().install(folder, notes.append)
    asked = (tmp_path / "pip.asked").read_text("utf-8")
    assert asked.startswith(f"{folder}/fetched ")
    assert "--require-hashes" in asked
    assert "--no-deps" in asked
    assert notes == ["539 MB looked up and fetched", "2039 MB looked up and fetched", "unpacking"]
    assert not (folder / "fetched").exists()


def test_what_only_a_graphics_card_opens_is_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stand_in(tmp_path, monkeypatch, "", 0)
    TORCH.packages().install(folder, lambda _: None)
    left = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert left == ["libcudnn.so.9"]
    assert not list(folder.rglob("include"))


REFUSED = """WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError(x: Failed
ERROR: Could not find a version that satisfies the requirement torch==2.15.0 (from versions: none)
ERROR: No matching distribution found for torch==2.15.0
"""


@pytest.mark.parametrize(
    ("said", "told", "hint"),
    [
        (REFUSED, "can't reach its package index", "network"),
        ("ERROR: No matching distribution found for torch==2.15.0", "no wheel for this machine", "Linux"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "another sha256", "trust"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "full", "free"),
        ("/usr/bin/python3: No module named pip", "no pip", "make setup"),
        ("ERROR: something that nobody knows", "something that nobody knows", "again"),
    ],
)
def test_what_pip_can_not_do_is_one_error_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str, hint: str
) -> None:
    folder = stand_in(tmp_path, monkeypatch, said, 1)
    with pytest.raises(SluicewayError, match=told) as caught:
        TORCH.packages().install(folder, lambda _: None)
    assert hint in (caught.value.hint or "")


def test_the_lock_pins_everything_by_its_hash_and_leaves_out_what_the_processor_needs_not() -> None:
    lines = TORCH.lock.read_text("utf-8").splitlines()
    names = [line.partition("==")[0] for line in lines if line[:1].isalnum()]
    assert {"torch", "transformers", "onnxscript", "onnxruntime", "numpy"} <= set(names)
    assert not {"triton", "cuda-toolkit", "nvidia-cusolver"} & set(names)
    entries = [at for at, line in enumerate(lines) if line[:1].isalnum()]
    assert all("--hash=sha256:" in lines[at + 1] for at in entries)
