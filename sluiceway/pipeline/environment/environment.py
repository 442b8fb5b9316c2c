"""A virtual environment that is made when it is first needed, and kept in the user's cache by its lock."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sluiceway.errors import UserError
from sluiceway.pipeline.environment import install
from sluiceway.processes import held
from sluiceway.progress import Progress
from sluiceway.workspace import cache_dir

KEPT_DAYS: Final = 30
_MAKING: Final = ".making-"
_STAMP: Final = "installed"


@dataclass(frozen=True)
class Environment:
    """What is installed by ``lock``, whole or not at all.

    ``name``: what the environment is of, as errors say it; ``folder``: its place in the user's cache; ``title``: what
    progress says; ``proof``: a line of Python that runs in it; ``needed_gb``: free space that the installation takes at
    its largest, fetched and unpacked; ``trimmed``: patterns below site-packages of what nothing opens; ``machines``:
    what there are wheels for, in words.
    """

    name: str
    lock: Path
    folder: str
    title: str
    proof: str
    needed_gb: float
    usual_seconds: float
    machines: str
    trimmed: tuple[str, ...] = ()

    def python(self, progress: Progress, cache: Path | None = None) -> Path:
        """The interpreter of the environment with all that its lock names; installed on the first call.

        ``cache``: the folder of its versions, by default ``folder`` in the user's cache directory. Two processes that
        ask at once get one installation. UserError when the disk is too small for it, SluicewayError when it fails;
        nothing is left behind then.
        """
        root = cache or cache_dir() / self.folder
        folder = root / self.digest()
        if found := _finished(folder):
            return found
        root.mkdir(parents=True, exist_ok=True)
        with held(root / "lock", progress, f"waiting for another installation of {self.name}", 0.5):
            if found := _finished(folder):
                return found
            for left in root.glob(f"{_MAKING}*"):
                shutil.rmtree(left, ignore_errors=True)
            self._make(folder, progress)
            prune(root, folder, time.time())
        return folder / "bin" / "python"

    def found(self, cache: Path | None = None) -> Path | None:
        """The interpreter, where it was installed before; nothing is fetched."""
        return _finished((cache or cache_dir() / self.folder) / self.digest())

    def digest(self) -> str:
        """What decides an environment: its lock, how it is installed, the Python and the machine it is for."""
        place = f"{install.VERSION} {sys.version} {platform.machine()}"
        return hashlib.sha256(self.lock.read_bytes() + place.encode()).hexdigest()[:16]

    def require_space(self, folder: Path, free: int) -> None:
        """UserError unless ``free`` bytes on the disk of ``folder`` are enough."""
        if free < self.needed_gb * 1e9:
            raise UserError(
                f"{self.name} needs {self.needed_gb} GB of free disk while it is installed",
                path=str(folder),
                got=f"{free / 1e9:.1f} GB",
                hint="free some space there, or name a folder on another disk in SLUICEWAY_CACHE_DIR",
            )

    def packages(self) -> install.Packages:
        return install.Packages(self.name, self.lock, self.machines, self.trimmed)

    def _make(self, folder: Path, progress: Progress) -> None:
        """All happens under another name; the folder gets its own when what it is for has been tried."""
        self.require_space(folder.parent, shutil.disk_usage(folder.parent).free)
        making = folder.with_name(f"{_MAKING}{os.getpid()}")
        hint = f"this Python needs the module venv (Debian: apt install python3-venv), and {self.name} a common system"
        try:
            with progress.step(self.title, self.usual_seconds) as note:
                install.run_python([install.base_python(), "-m", "venv", "--without-pip", str(making)], self.name, hint)
                self.packages().install(making, note)
                note("trying it")
                install.run_python([str(making / "bin" / "python"), "-W", "ignore", "-c", self.proof], self.name, hint)
            (making / _STAMP).touch()
            shutil.rmtree(folder, ignore_errors=True)
            making.rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def prune(root: Path, kept: Path, now: float) -> None:
    """Removes environments that nothing has used for KEPT_DAYS days; ``now``: seconds since 1970."""
    for stamp in root.glob(f"*/{_STAMP}"):
        if stamp.parent != kept and now - stamp.stat().st_mtime > KEPT_DAYS * 86_400:
            shutil.rmtree(stamp.parent, ignore_errors=True)


def _finished(folder: Path) -> Path | None:
    stamp = folder / _STAMP
    if not stamp.is_file():
        return None
    os.utime(stamp)
    return folder / "bin" / "python"
