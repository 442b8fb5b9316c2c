"""Tests that share a stage run in one process: with some pairs of pytest and xdist the groups are silently lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_tests_of_one_group_run_in_one_process(tmp_path: Path) -> None:
    text = "import os, pathlib, pytest\n\n\n@pytest.mark.xdist_group('one')\n"
    text += "@pytest.mark.parametrize('n', range(6))\ndef test(n):\n"
    text += "    (pathlib.Path(__file__).parent / 'pids').open('a').write(f'{os.getpid()}\\n')\n"
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(text, "utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, "--rootdir", str(tmp_path)], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 12
    assert len(set(pids)) == 1
