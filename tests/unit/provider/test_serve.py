"""A plugin whose engine died without ending it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

STARTER = """\
import pathlib, subprocess, sys
plugin = subprocess.Popen([sys.executable, "-m", "sluiceway.engine.provider.sluiceway_plugin", "127.0.0.1:1"],
                          stdout=subprocess.PIPE, start_new_session=True)
plugin.stdout.readline()
print(plugin.pid, flush=True)
"""


def test_a_plugin_leaves_when_its_engine_is_gone() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", STARTER], cwd=root, check=True, capture_output=True, text=True)
    pid = int(done.stdout)
    deadline = time.monotonic() + 60
    while _runs(pid):
        assert time.monotonic() < deadline, "the plugin outlives its engine"
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return b" Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except (ProcessLookupError, FileNotFoundError):
        return False
