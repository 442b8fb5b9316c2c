"""pip fills an environment from a lock with hashes; what nothing would open is taken out again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Packages:
    """What ``lock`` names, for the environment of ``whose``; the other fields as in `Environment`."""

    whose: str
    lock: Path
    machines: str
    trimmed: tuple[str, ...] = ()

    def install(self, folder: Path, note: Callable[[str], None]) -> None:
        """Puts them into the environment ``folder``, which has no pip of its own. SluicewayError."""
        scratch = folder / "fetched"
        scratch.mkdir()
        python = str(folder / "bin" / "python")
        options = (*_PIP, *_QUIET, *_PATIENCE, "-r", str(self.lock))
        command = [sys.executable, "-m", "pip", "--python", python, "install", *options]
        # pip fetches everything before it unpacks anything: beside the environment, where the space was looked at.
        code, said = _watched(command, {**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"}, note)
        if code:
            raise self.failure(said)
        shutil.rmtree(scratch)
        self.trim(folder)

    def trim(self, folder: Path) -> None:
        for site in folder.glob("lib/python3*/site-packages"):
            for pattern in self.trimmed:
                for path in site.glob(pattern):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def failure(self, said: str) -> SluicewayError:
        """What pip said, as one error with what to do."""
        if "No space left" in said:
            hint = "free some space there, or name a folder on another disk in SLUICEWAY_CACHE_DIR"
            return UserError("the disk of the cache is full", path=self.whose, hint=hint)
        message, hint = _understood(said, self.machines)
        return SluicewayError(message, path=self.whose, hint=hint)


def _watched(command: list[str], env: dict[str, str], note: Callable[[str], None]) -> tuple[int, str]:
    """pip's exit code and its last words; ``note`` gets how far it is."""
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
    return child.returncode, "\n".join(tail)


def _understood(said: str, machines: str) -> tuple[str, str]:
    """A message and a hint."""
    if "DO NOT MATCH THE HASHES" in said:
        hint = "what the package index serves isn't what was locked: find out why before you trust it"
        return "a package has another sha256 than the lock says", hint
    if "No module named pip" in said:
        return (
            "this Python has no pip to install it with",
            "run make setup, or install pip into this virtual environment",
        )
    if "connection broken" in said or "Max retries" in said or "Read timed out" in said:
        hint = "check the network, or which index pip asks (`pip config list`), then run the same command again"
        return "pip can't reach its package index", hint
    if "No matching distribution" in said:
        return "a package of the lock has no wheel for this machine", machines
    last = " ".join(line.strip() for line in said.splitlines()[-3:]) or "no message"
    return f"pip couldn't install it: {last[:300]}", "the words above are pip's; then run the same command again"
