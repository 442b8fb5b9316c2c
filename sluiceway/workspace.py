"""Where things are: the repository that a command works on, and the user's cache directory.

Only the standard library is imported here, since set-up runs before anything is installed.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from sluiceway.errors import UserError

MARKER = "Pulumi.yaml"


@dataclass(frozen=True)
class Workspace:
    """One checkout. ``root`` holds Pulumi.yaml; everything made here lives in ``root/.sluiceway``."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Workspace:
        """The checkout that ``start`` (default: SLUICEWAY_ROOT, then the current directory) lies in."""
        given = os.environ.get("SLUICEWAY_ROOT")
        here = (start or (Path(given) if given else Path.cwd())).resolve()
        for folder in (here, *here.parents):
            if (folder / MARKER).is_file() and (folder / "stacks").is_dir():
                return cls(folder)
        raise UserError(
            f"no {MARKER} with a stacks folder beside it, here or above",
            path=str(here),
            hint="run this inside a Sluiceway checkout, or set SLUICEWAY_ROOT to one",
        )

    @property
    def private(self) -> Path:
        """What commands make and git ignores."""
        return self.root / ".sluiceway"

    @property
    def bin(self) -> Path:
        """What ``sluiceway env`` puts first on PATH: engine, language host, plugins, node."""
        return self.private / "bin"

    @property
    def pulumi_home(self) -> Path:
        return self.private / "pulumi"

    @property
    def pulumi_state(self) -> Path:
        """The file backend of stage local."""
        return self.private / "state"

    @property
    def local(self) -> Path:
        """Data, logs and runtime.json of the local stage."""
        return self.private / "local"

    def build(self, stage: str) -> Path:
        """Rendered and bundled output of one stage."""
        return self.private / "build" / stage

    @property
    def node_modules(self) -> Path:
        return self.root / "node_modules"


def cache_dir() -> Path:
    """SLUICEWAY_CACHE_DIR, else the user's cache directory of this system."""
    given = os.environ.get("SLUICEWAY_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sluiceway"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sluiceway"
