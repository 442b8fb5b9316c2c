"""A stage's process: what it answers, how it fails, and that it outlives nobody."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.runner.spawn import PRIVATE, Job, run
from sluiceway.processes import process_start

ROOT = Path(__file__).resolve().parents[4]
HERE = "tests.unit.pipeline.runner.called"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("SLUICEWAY_VERBOSE", raising=False)


def job(name: str, **arguments: object) -> Job:
    return Job(f"{HERE}:{name}", arguments, "tiny: fold")


def wait_for(file: Path) -> str:
    while not (file.is_file() and file.read_text()):
        time.sleep(0.02)
    return file.read_text()


def is_gone(pid: int) -> bool:
    for _ in range(500):
        if process_start(pid) is None:
            return True
        time.sleep(0.02)
    return False


def test_a_stage_answers_with_its_report_and_its_own_peak_memory() -> None:
    small, large = run(job("give", value={"a": "模型"})), run(job("take_memory", megabytes=200))
    assert small.report == {"a": "模型"}
    assert 200 < large.peak_mb < small.peak_mb + 300
    assert small.peak_mb < 100


def test_only_a_stage_that_signs_is_told_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages run code of a recipe's or of a model's, which could send on what it finds."""
    for name in PRIVATE:
        monkeypatch.setenv(name, "told")
    asked = job("tell_variables", names=list(PRIVATE))
    assert run(asked).report == dict.fromkeys(PRIVATE)
    assert run(replace(asked, signs=True)).report == dict.fromkeys(PRIVATE, "told")


def test_another_interpreter_finds_this_package_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$PYTHONPATH" > "$0.path"\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    with pytest.raises(UserError, match="from opset 18 on"):
        arguments = {"source": "", "out": "", "kind": "encoder", "opset": 17, "ir": None, "code": False}
        run(Job("sluiceway.pipeline.torch_export.run:export", arguments, "tiny: export", str(python)))
    assert Path(f"{python}.path").read_text().strip() == str(ROOT)


def test_an_error_for_a_person_arrives_as_it_was_raised() -> None:
    with pytest.raises(UserError) as caught:
        run(job("refuse"))
    error = caught.value
    assert (error.message, error.path, error.hint) == ("can't be", "tiny: passes[0]", "do this")
    assert str(error) == "tiny: passes[0]: can't be, got [1, 2]"


def test_an_unexpected_error_names_the_stage() -> None:
    with pytest.raises(SluicewayError, match="unexpected ZeroDivisionError") as caught:
        run(job("divide"))
    assert caught.value.path == "tiny: fold" and caught.value.exit_code == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_disk_and_one_that_cant_be_written_to_are_one_clear_error(number: int) -> None:
    with pytest.raises(SluicewayError) as caught:
        run(job("fail_to_write", number=number))
    assert caught.value.message == os.strerror(number) and caught.value.path == "/some/file"
    assert "--dir" in (caught.value.hint or "")


def test_a_full_disk_that_a_library_tells_in_words_is_the_same_error() -> None:
    with pytest.raises(SluicewayError) as caught:
        run(job("complain", text=f"fwrite failed: {os.strerror(errno.ENOSPC)} (28)"))
    assert caught.value.message == os.strerror(errno.ENOSPC)


@pytest.mark.parametrize(
    ("number", "told"), [(signal.SIGKILL, "was killed"), (signal.SIGSEGV, "died of SIGSEGV: on the way")]
)
def test_a_process_that_dies_is_told_with_its_last_words(number: int, told: str) -> None:
    with pytest.raises(SluicewayError, match=told):
        run(job("die", number=number))


def test_a_process_that_leaves_without_an_answer_is_a_failure() -> None:
    with pytest.raises(SluicewayError, match="exit code 7 and no answer"):
        run(job("leave", code=7))


def test_a_process_that_takes_longer_than_it_may_is_ended_and_told() -> None:
    with pytest.raises(SluicewayError, match=r"tiny: fold: its process took longer than 0\.2 seconds") as caught:
        run(replace(job("stay"), seconds=0.2))
    assert (caught.value.exit_code, bool(caught.value.hint)) == (1, True)


def test_a_process_that_is_done_in_time_is_no_different(tmp_path: Path) -> None:
    assert run(replace(job("give", value={"a": 1}), seconds=600.0)).report == {"a": 1}
    with pytest.raises(SluicewayError, match="was killed"):
        run(replace(job("die", number=signal.SIGKILL), seconds=600.0))


def test_what_a_stage_started_doesnt_outlive_it(tmp_path: Path) -> None:
    run(job("start_another", file=str(tmp_path / "pid")))
    assert is_gone(int(wait_for(tmp_path / "pid")))


def test_ctrl_c_takes_the_stage_and_what_it_started_along(tmp_path: Path) -> None:
    file = tmp_path / "pids"

    def press() -> None:
        wait_for(file)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run(job("wait", file=str(file)))
    assert all(is_gone(int(pid)) for pid in file.read_text().split())


def test_a_stage_dies_with_who_started_it_even_by_kill_9(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    code = "from sluiceway.pipeline.runner.spawn import *\nimport sys\nrun(Job(sys.argv[1], {'file': sys.argv[2]}, ''))"
    parent = subprocess.Popen([sys.executable, "-c", code, f"{HERE}:wait", str(file)])
    pids = [int(pid) for pid in wait_for(file).split()]
    parent.kill()
    parent.wait()
    assert all(is_gone(pid) for pid in pids)
