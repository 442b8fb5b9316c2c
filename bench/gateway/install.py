"""Installs the gateways that ours is measured against, apart from what the product itself needs."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from sluiceway.errors import SluicewayError
from sluiceway.workspace import cache_dir

HERE = Path(__file__).parent
LOCKS = ("litellm.lock", "package.json", "package-lock.json")


def rivals(node: Path) -> Path:
    """The folder that holds them, made on the first call (minutes, about 1 GB) and kept in the user's cache."""
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in LOCKS)).hexdigest()[:12]
    folder = cache_dir() / "bench-gateway" / digest
    done = folder / "installed"
    if done.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in LOCKS:
        shutil.copy(HERE / name, folder)
    print("installing LiteLLM and Portkey's gateway, once; usually about 3 minutes", file=sys.stderr, flush=True)
    _run(folder, sys.executable, "-m", "venv", "venv")
    _run(folder, "venv/bin/pip", "install", "--quiet", "--require-hashes", "-r", "litellm.lock")
    npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    _run(folder, *([str(node), str(npm)] if npm.exists() else ["npm"]), "ci", "--ignore-scripts", "--no-audit")
    done.touch()
    return folder


def _run(folder: Path, *command: str) -> None:
    ended = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode:
        said = (ended.stderr or ended.stdout).strip()[-2_000:]
        hint = "with no package registry in reach, leave them out: python -m bench.gateway --without-rivals"
        raise SluicewayError(f"{' '.join(command)} failed: {said}", path=str(folder), hint=hint)
