"""pip fills an environment from a lock with hashes; what only a graphics card would open is taken out again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sluiceway.errors import SluicewayError, UserError

VERSION: Final = 1
"""Rises whenever the same lock would leave other files."""
_PIP: Final = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-input", "--no-compile")
_QUIET: Final = ("--disable-pip-version-check", "--progress-bar", "off", "--no-cache-dir")
_PATIENCE: Final = ("--timeout", "30", "--retries", "3")
_FETCHED: Final = re.compile(r"Downloading \S+ \(([\d.]+) (kB|MB|GB)\)")
_MB: Final = {"kB": 0.001, "MB": 1.0, "GB": 1000.0}
TRIMMED: Final = (
    "nvidia/cudnn/lib/libcudnn_*",
    "nvidia/nvshmem/lib/*.bc",
    "nvidia/nvshmem/lib/*.a",
    "nvidia/*/lib/libnvperf_*",
    "torch/include",
)
"""1.1 GB that no process without a graphics card opens; the libraries that torch itself is linked to stay."""


def base_python() -> str:
    """The interpreter that this environment's was made from: an environment of an environment breaks with it."""
    return getattr(sys, "_base_executable", sys.executable)


def run_python(command: list[str], whose: str, hint: str) -> None:
    """Runs an interpreter to its end. SluicewayError with its last words: the environment of ``whose`` is no use."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        message = f"the environment of {whose} can't be used: {said[0][:300]}"
        raise SluicewayError(message, path=command[0], hint=hint)


def packages(folder: Path, lock: Path, note: Callable[[str], None]) -> None:
    """What ``lock`` names into the environment ``folder``, which has no pip of its own. SluicewayError."""
    scratch = folder / "fetched"
    scratch.mkdir()
    python = str(folder / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", *_PIP, *_QUIET, *_PATIENCE, "-r", str(lock)]
    # pip fetches everything before it unpacks anything: beside the environment, where the space was looked at.
    env = {**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"}
    tail: deque[str] = deque(maxlen=12)
    megabytes = 0.0
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        assert child.stdout is not None
        try:
            for text in map(str.rstrip, child.stdout):
                tail.append(text)
                if found := _FETCHED.search(text):
                    megabytes += float(found[1]) * _MB[found[2]]
                    note(f"{megabytes:.0f} MB looked up and fetched")
                elif text.startswith("Installing collected"):
                    note("unpacking")
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        raise failure("\n".join(tail))
    shutil.rmtree(scratch)
    trim(folder)


def trim(folder: Path) -> None:
    """Takes TRIMMED out of the environment."""
    for site in folder.glob("lib/python3*/site-packages"):
        for pattern in TRIMMED:
            for path in site.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def failure(said: str) -> SluicewayError:
    """What pip said, as one error with what to do."""
    path = "torch"
    if "No space left" in said:
        hint = "free some space there, or name a folder on another disk in SLUICEWAY_CACHE_DIR"
        return UserError("the disk of the cache is full", path=path, hint=hint)
    if "DO NOT MATCH THE HASHES" in said:
        hint = "what the package index serves isn't what was locked: find out why before you trust it"
        return SluicewayError("a package has another sha256 than the lock says", path=path, hint=hint)
    if "No module named pip" in said:
        hint = "run make setup, or install pip into this virtual environment"
        return SluicewayError("this Python has no pip to install it with", path=path, hint=hint)
    if "connection broken" in said or "Max retries" in said or "Read timed out" in said:
        hint = "check the network, or which index pip asks (`pip config list`), then run the same command again"
        return SluicewayError("pip can't reach its package index", path=path, hint=hint)
    if "No matching distribution" in said:
        hint = "torch has wheels for Linux (x86-64, ARM), macOS on ARM and Windows, and for Python 3.11 to 3.14"
        return SluicewayError("a package of the lock has no wheel for this machine", path=path, hint=hint)
    last = " ".join(line.strip() for line in said.splitlines()[-3:]) or "no message"
    hint = "the words above are pip's; then run the same command again"
    return SluicewayError(f"pip couldn't install it: {last[:300]}", path=path, hint=hint)
