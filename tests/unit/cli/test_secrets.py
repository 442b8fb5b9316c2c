"""What ``sluiceway secrets set`` takes by stdin."""

from __future__ import annotations

import io

import pytest

from sluiceway.cli.secrets import _read
from sluiceway.errors import UserError


def given(monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(value)))


@pytest.mark.parametrize("value", [b"", b"\n", b"  \r\n"])
def test_an_empty_secret_is_refused(monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    given(monkeypatch, value)
    with pytest.raises(UserError, match="empty; nothing was changed"):
        _read("API_KEY")


@pytest.mark.parametrize(
    ("value", "noted"), [(b"key\n", True), (b"key", False), (b"-----BEGIN-----\nMIIB\n-----END-----\n", False)]
)
def test_a_line_break_that_echo_added_is_kept_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: bytes, noted: bool
) -> None:
    given(monkeypatch, value)
    assert _read("API_KEY").encode() == value
    assert ("ends in a line break" in capsys.readouterr().err) is noted
