"""Generated files are whole or untouched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sluiceway.render.files import write_file


def test_a_file_that_is_right_already_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    assert write_file(path, "é\r\n") is True
    before = path.stat()
    assert write_file(path, "é\r\n") is False
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert path.read_bytes() == b"\xc3\xa9\r\n"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.txt"
    write_file(path, "old")

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_file(path, "new")
    assert {child.name: child.read_text() for child in tmp_path.iterdir()} == {"file.txt": "old"}


def test_the_mode_is_that_of_a_file_made_by_hand(tmp_path: Path) -> None:
    by_hand, made = tmp_path / "by-hand", tmp_path / "made"
    os.close(os.open(by_hand, os.O_CREAT, 0o666))
    write_file(made, "x")
    assert made.stat().st_mode == by_hand.stat().st_mode
