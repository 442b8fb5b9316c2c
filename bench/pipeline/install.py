"""The packages of the rivals, each in an environment of its own over the one that torch is in already."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sluiceway.pipeline.environment import install
from sluiceway.pipeline.torch_export.environment import TORCH
from sluiceway.processes import held
from sluiceway.progress import Progress
from sluiceway.workspace import cache_dir

LOCKS: Final = Path(__file__).parent / "rivals"
_MAKING: Final = ".making-"
_STAMP: Final = "installed"
_TRIED: Final = {
    "builder": "import accelerate, gguf, onnxruntime_genai, torch, transformers",
    "optimum": "import optimum.exporters.onnx, torch, transformers",
}
_USUAL_SECONDS: Final = 30.0


def python(rival: str, progress: Progress) -> Path:
    """The interpreter that has what ``rivals/<rival>.lock`` names, and torch. Installed on the first call.

    Two processes that ask at once get one installation; what a killed one left is removed by the next.
    Raises SluicewayError when it can't be made.
    """
    torch = TORCH.python(progress).parents[1]
    lock = LOCKS / f"{rival}.lock"
    root = cache_dir() / "bench-pipeline"
    digest = hashlib.sha256(lock.read_bytes() + str(torch).encode()).hexdigest()[:12]
    folder = root / f"{rival}-{digest}"
    made = folder / "bin" / "python"
    if (folder / _STAMP).is_file():
        return made
    root.mkdir(parents=True, exist_ok=True)
    with held(root / "lock", progress, "waiting for another installation of the rivals", 0.5):
        for left in root.glob(f"{_MAKING}*"):
            shutil.rmtree(left, ignore_errors=True)
        if not (folder / _STAMP).is_file():
            with progress.step(f"installing {rival} beside torch, once", _USUAL_SECONDS) as note:
                making = root / f"{_MAKING}{os.getpid()}"
                try:
                    _fill(making, lock, torch, rival, note)
                    shutil.rmtree(folder, ignore_errors=True)
                    making.rename(folder)
                finally:
                    shutil.rmtree(making, ignore_errors=True)
    return made


def _fill(folder: Path, lock: Path, torch: Path, rival: str, note: Callable[[str], None]) -> None:
    _run([install.base_python(), "-m", "venv", "--without-pip", str(folder)])
    install.Packages(rival, lock, TORCH.machines, TORCH.trimmed).install(folder, note)
    # Only now: pip would take what torch's environment has for this one's own. Here the nearer package wins.
    (own,) = folder.glob("lib/python3*/site-packages")
    (shared,) = torch.glob("lib/python3*/site-packages")
    (own / "torch.pth").write_text(f"{shared}\n", "utf-8")
    note("trying it")
    _run([str(folder / "bin" / "python"), "-W", "ignore", "-c", _TRIED[rival]])
    (folder / _STAMP).touch()


def _run(command: list[str]) -> None:
    hint = "the words above are Python's; run the command again"
    install.run_python(command, "a rival", hint)
