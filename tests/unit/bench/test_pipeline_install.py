"""The rivals' environments: whole or not there, over the torch that is installed already."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.pipeline import install
from sluiceway.pipeline.environment import install as fills
from sluiceway.pipeline.torch_export.environment import TORCH
from sluiceway.progress import Progress

SITE = Path("lib") / f"python3.{sys.version_info.minor}" / "site-packages"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the environments; torch's own has a torch and a transformers."""
    torch = tmp_path / "export"
    (torch / SITE).mkdir(parents=True)
    for name in ("torch", "transformers"):
        (torch / SITE / f"{name}.py").write_text("whose = 'shared'\n", "utf-8")
    monkeypatch.setenv("SLUICEWAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(type(TORCH), "python", lambda self, progress: torch / "bin" / "python")
    return tmp_path / "bench-pipeline"


def fetched(asked: fills.Packages, folder: Path, note: Callable[[str], None]) -> None:
    """Stands for pip: what a lock names, and a transformers of the rival's own."""
    for name in ("accelerate", "gguf", "onnxruntime_genai", "transformers"):
        (folder / SITE / f"{name}.py").write_text("whose = 'own'\n", "utf-8")


def interrupted(asked: fills.Packages, folder: Path, note: Callable[[str], None]) -> None:
    fetched(asked, folder, note)
    raise KeyboardInterrupt


def quiet() -> Progress:
    return Progress(io.StringIO())


def test_a_rivals_packages_win_and_the_rest_is_torchs_environment(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fills.Packages, "install", fetched)
    python = install.python("builder", quiet())
    asked = "import torch, transformers; print(torch.whose, transformers.whose)"
    assert subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout == "shared own\n"
    monkeypatch.setattr(fills.Packages, "install", interrupted)
    assert install.python("builder", quiet()) == python


def test_an_interrupted_installation_leaves_nothing_and_a_killed_one_is_cleared_away(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fills.Packages, "install", interrupted)
    with pytest.raises(KeyboardInterrupt):
        install.python("builder", quiet())
    assert [path.name for path in cache.iterdir()] == ["lock"]
    (cache / ".making-1").mkdir()
    monkeypatch.setattr(fills.Packages, "install", fetched)
    folder = install.python("builder", quiet()).parents[1]
    assert {path for path in cache.iterdir() if path.name != "lock"} == {folder}
