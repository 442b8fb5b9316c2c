"""A checkout of its own for an end-to-end test: the tracked files, copied; what set-up made, linked."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.warm import LIMIT, Done, Warm

ROOT = Path(__file__).resolve().parents[2]
# Nothing of the person's own stage, account or shell may reach a test.
_FOREIGN = ("PULUMI_", "CLOUDFLARE_", "SLUICEWAY_", "AWS_", "CF_")


@dataclass(frozen=True)
class Checkout:
    """``run`` starts them in ``root`` as a person would in a fresh shell; ``warm`` spares ``sluiceway`` its start."""

    root: Path
    warm: Warm | None = field(default=None, kw_only=True)

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        cache = os.environ.get("SLUICEWAY_CACHE_DIR")
        ports = {"SLUICEWAY_LOCAL_PORT": "0", "SLUICEWAY_LOCAL_API_PORT": "0"}
        return {**kept, **ports, **({"SLUICEWAY_CACHE_DIR": cache} if cache else {}), **more}

    def run(self, *words: str, env: Mapping[str, str] | None = None, stdin: str = "") -> Done:
        done = subprocess.run(
            words, cwd=self.root, env=self.environ(**(env or {})), input=stdin, capture_output=True,
            text=True, encoding="utf-8", timeout=LIMIT, check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    @property
    def python(self) -> str:
        return str(self.root / ".venv" / "bin" / "python")

    def sluiceway(self, *words: str, stdin: str = "", **env: str) -> Done:
        if self.warm:
            return self.warm.run(words, cwd=self.root, env=self.environ(**env), python=self.python, stdin=stdin)
        return self.run(self.python, "-m", "sluiceway", *words, env=env, stdin=stdin)

    def shell(self, script: str, **env: str) -> Done:
        """A script after ``eval "$(sluiceway env local)"``, as the README says."""
        return self.run("sh", "-euc", f"eval \"$('{self.python}' -m sluiceway env local)\"\n{script}", env=env)

    def fingerprint(self, *folders: str) -> dict[str, str]:
        """sha256 by path of every file below ``folders``: to show that nothing was changed."""
        files = (path for folder in folders for path in (self.root / folder).rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def make_checkout(folder: Path, warm: Warm | None = None) -> Checkout:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in names:
        source = ROOT / name
        if name and source.is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for name in (".venv", "node_modules"):
        (folder / name).symlink_to(ROOT / name)
    return Checkout(folder, warm=warm)
