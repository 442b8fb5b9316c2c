"""The environment that torch is installed into: made when it is first needed, kept in the user's cache by its lock."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import time
from pathlib import Path
from typing import Final

from sluiceway.errors import UserError
from sluiceway.pipeline.torch_export import install
from sluiceway.processes import held
from sluiceway.progress import Progress
from sluiceway.workspace import cache_dir

LOCK: Final = Path(__file__).with_name("requirements.lock")
KEPT_DAYS: Final = 30
_MAKING: Final = ".making-"
_STAMP: Final = "installed"
_NEEDED_GB: Final = {"linux": 7.5}
"""Free space that an installation takes at its largest: the files as they were fetched and as they are unpacked."""
_NEEDED_ELSEWHERE_GB: Final = 2.0
_USUAL_SECONDS: Final = 180.0


def python(progress: Progress, cache: Path | None = None) -> Path:
    """The interpreter of the environment with all that ``requirements.lock`` names; installed on the first call.

    ``cache``: the folder of the environments, by default ``export`` in the user's cache directory. Two processes that
    ask at once get one installation. UserError when the disk is too small for it, SluicewayError when it fails;
    nothing is left behind then.
    """
    root = cache or cache_dir() / "export"
    folder = root / digest()
    if found := _finished(folder):
        return found
    root.mkdir(parents=True, exist_ok=True)
    with held(root / "lock", progress, "waiting for another installation of torch", 0.5):
        if found := _finished(folder):
            return found
        for left in root.glob(f"{_MAKING}*"):
            shutil.rmtree(left, ignore_errors=True)
        _make(folder, progress)
        prune(root, folder, time.time())
    return folder / "bin" / "python"


def digest() -> str:
    """What decides an environment: its lock, how it is installed, the Python and the machine it is for."""
    place = f"{install.VERSION} {sys.version} {platform.machine()}"
    return hashlib.sha256(LOCK.read_bytes() + place.encode()).hexdigest()[:16]


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


def _make(folder: Path, progress: Progress) -> None:
    """Everything happens under another name; the folder gets its own when torch has been imported from it."""
    require_space(folder.parent, shutil.disk_usage(folder.parent).free)
    making = folder.with_name(f"{_MAKING}{os.getpid()}")
    try:
        title = "installing torch and transformers, once (2.5 GB to fetch)"
        with progress.step(title, _USUAL_SECONDS) as note:
            _run([install.base_python(), "-m", "venv", "--without-pip", str(making)])
            install.packages(making, LOCK, note)
            note("trying it")
            _run([str(making / "bin" / "python"), "-W", "ignore", "-c", "import torch, transformers, onnxscript"])
        (making / _STAMP).touch()
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def require_space(folder: Path, free: int) -> None:
    """UserError unless ``free`` bytes on the disk of ``folder`` are enough."""
    needed = _NEEDED_GB.get(sys.platform, _NEEDED_ELSEWHERE_GB)
    if free < needed * 1e9:
        raise UserError(
            f"torch needs {needed} GB of free disk while it is installed",
            path=str(folder),
            got=f"{free / 1e9:.1f} GB",
            hint="free some space there, or name a folder on another disk in SLUICEWAY_CACHE_DIR",
        )


def _run(command: list[str]) -> None:
    hint = "this Python needs the module venv (Debian: apt install python3-venv), and torch a common system"
    install.run_python(command, "torch", hint)
