"""Log files: bounded, readable to the last line, and followed over a rotation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sluiceway.errors import UserError
from sluiceway.local.daemon_logs import RotatingLines
from sluiceway.local.lifecycle_logs import logs


def test_logs_are_rotated_by_size_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "control.log"
    lines = RotatingLines(path, limit=100, kept=2)
    for number in range(100):
        lines.write(f"line {number} 模型")
    lines.close()
    files = sorted(each.name for each in path.parent.iterdir())
    assert files == ["control.log", "control.log.1", "control.log.2"]
    assert all(each.stat().st_size <= 100 for each in path.parent.iterdir())
    assert path.read_text(encoding="utf-8").splitlines()[-1] == "line 99 模型"


def test_a_log_that_is_opened_again_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "host.log"
    for text in ("one", "two\n"):
        lines = RotatingLines(path)
        lines.write(text)
        lines.close()
    assert path.read_text() == "one\ntwo\n"


def test_the_last_lines_are_shown(tmp_path: Path) -> None:
    lines = RotatingLines(tmp_path / "logs" / "workers.log")
    for number in range(10):
        lines.write(str(number))
    lines.close()
    assert list(logs(tmp_path, which="workers", lines=3)) == ["7", "8", "9"]
    assert list(logs(tmp_path, which="host")) == []


def test_the_last_lines_are_shown_right_after_a_rotation_too(tmp_path: Path) -> None:
    lines = RotatingLines(tmp_path / "logs" / "workers.log", limit=12)
    for word in ("first", "second", "third"):  # each a file of its own
        lines.write(word)
    lines.close()
    assert list(logs(tmp_path, which="workers", lines=2)) == ["second", "third"]
    assert list(logs(tmp_path, which="workers", lines=1)) == ["third"]
    assert list(logs(tmp_path, which="workers", lines=0)) == []


def test_followed_logs_show_each_line_once_over_a_rotation_and_a_half_written_line(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "host.log"
    lines = RotatingLines(path, limit=12, kept=5)
    lines.write("first")

    def append(text: str) -> None:
        with path.open("a") as out:
            out.write(text)

    steps: list[Callable[[], None]] = [
        lambda: lines.write("second"),
        lambda: lines.write("third"),  # does not fit: the file is a new one from here
        lambda: lines.write("fourth"),
        lambda: append("fif"),
        lambda: append("th\n"),
    ]
    seen: list[str] = []

    def sleep(_seconds: float) -> None:
        steps.pop(0)()

    for line in logs(tmp_path, which="host", follow=True, sleep=sleep):
        seen.append(line)
        if line == "fifth":
            break
    lines.close()
    assert seen == ["first", "second", "third", "fourth", "fifth"]


def test_a_log_that_does_not_exist_by_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="control, host, workers"):
        logs(tmp_path, which="worker")
