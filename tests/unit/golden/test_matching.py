"""A pattern from a file can't hold a command up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sluiceway.golden.matching import Matcher

HANGS = (r"(a+)+$", "a" * 40 + "!")


def test_what_is_found_and_what_is_not() -> None:
    with Matcher() as matcher:
        assert matcher.found(r"\bParis\b", "in Paris,\nmaybe") is True
        assert matcher.found("^伦敦$", "巴黎\n伦敦") is False
        assert matcher.found("(?m)^伦敦$", "巴黎\n伦敦") is True


def test_a_pattern_that_would_run_for_years_is_given_up_and_the_next_one_is_searched() -> None:
    with Matcher(processor=0.2) as matcher:
        assert matcher.found(*HANGS) is None
        assert matcher.found("a", "cat") is True


def test_a_process_that_answers_nothing_is_ended_and_the_next_search_gets_another() -> None:
    with Matcher(processor=600, wall=0.5) as matcher:
        assert matcher.found(*HANGS) is None
        assert matcher.found("a", "cat") is True


def test_no_process_is_started_for_nothing_and_none_is_left() -> None:
    with Matcher() as matcher:
        assert matcher._child is None
        assert matcher.found("a", "a") is True
        child = matcher._child
        assert child is not None and child.poll() is None
    assert child.returncode == -signal.SIGKILL


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_the_process_ends_with_the_one_that_started_it() -> None:
    script = (
        "from sluiceway.golden.matching import Matcher; import os\n"
        "m = Matcher(); m.found('a', 'a'); print(m._child.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    pid = int(done.stdout)
    for _ in range(600):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        subprocess.run(["sleep", "0.05"], check=True)
    raise AssertionError("the process is still there")
