"""What long work says of itself: how long it has taken, how long it usually takes, and how far that is."""

from __future__ import annotations

import io

import pytest

from sluiceway.progress import Progress, bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (0.0, "[----------]"),
        (0.5, "[#####-----]"),
        (1.0, "[#########-]"),
        (7.0, "[#########-]"),
        (-1.0, "[----------]"),
    ],
)
def test_a_bar_is_as_long_as_the_share_and_never_full(share: float, drawn: str) -> None:
    assert bar(share, 10) == drawn


def test_a_terminal_gets_a_bar_where_the_usual_length_is_known() -> None:
    told, seconds = Terminal(), iter([0.0, *([5.0] * 50)])
    with Progress(out=told, clock=lambda: next(seconds)).step("fold", 10.0):
        while "usually" not in told.getvalue():
            pass
    assert "fold [##########----------] 5.0 s, usually about 10 s" in told.getvalue()
    assert told.getvalue().endswith("fold: done in 5.0 s\n")


def test_a_pipe_gets_lines_and_no_bar() -> None:
    told = io.StringIO()
    with Progress(out=told).step("fold", 10.0):
        pass
    assert told.getvalue().splitlines()[0] == "fold, usually about 10 s" and "[" not in told.getvalue()
