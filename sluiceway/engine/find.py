"""Looks for a Pulumi engine on PATH that can run Python programs."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sluiceway.engine.release import OLDEST

LANGUAGE_HOST = "pulumi-language-python"


@dataclass(frozen=True)
class Found:
    """``path`` is a ``pulumi`` that answers with ``version``; ``language_host`` belongs to it."""

    path: Path
    version: str
    language_host: Path


def find_on_path(env: Mapping[str, str], ours: Iterable[Path]) -> tuple[Found | None, str]:
    """The first fit ``pulumi`` on ``env``'s PATH, and why it is or isn't one.

    ``ours`` are folders of this tool (shims, cached engines): what lies in them, or links into them, is
    not the person's own engine.
    """
    folders = [Path(word) for word in env.get("PATH", "").split(os.pathsep) if word]
    own = tuple(folder.resolve() for folder in ours)
    why = "there is no pulumi on PATH"
    for folder in folders:
        path = folder / "pulumi"
        if not _runnable(path) or _within(path, own):
            continue
        found, why = _judge(path, folders, own)
        if found:
            return found, why
    return None, why


def version_of(path: Path, timeout: float = 20) -> str | None:
    """What ``pulumi version`` says, without the leading v; None if it doesn't run."""
    try:
        # A home of its own, since the engine writes a log even for this.
        with tempfile.TemporaryDirectory() as home:
            env = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_HOME": home}
            done = subprocess.run([str(path), "version"], capture_output=True, timeout=timeout, env=env, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.decode("utf-8", "replace").strip()
    return said.removeprefix("v") if done.returncode == 0 and said else None


def parse_version(text: str) -> tuple[int, int, int] | None:
    """``3.274.1-dev.0`` -> (3, 274, 1)."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _judge(path: Path, folders: list[Path], own: tuple[Path, ...]) -> tuple[Found | None, str]:
    said = version_of(path)
    parsed = parse_version(said) if said else None
    if said is None or parsed is None:
        return None, f"{path} does not run"
    if parsed < OLDEST:
        return None, f"{path} is {said}, older than {'.'.join(map(str, OLDEST))}"
    for folder in (path.resolve().parent, *folders):
        host = folder / LANGUAGE_HOST
        if _runnable(host) and not _within(host, own):
            return Found(path, said, host), f"{path} is {said}, with {host}"
    return None, f"{path} is {said}, but its {LANGUAGE_HOST} is missing"


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _within(path: Path, folders: tuple[Path, ...]) -> bool:
    real = path.resolve()
    there = path.parent.resolve() / path.name
    return any(real.is_relative_to(folder) or there.is_relative_to(folder) for folder in folders)
