"""Where fetched and built engines are kept: one folder a version in the user's cache directory.

A folder is made elsewhere (scratch) and renamed into place, so one that is there is whole. Work in the
store happens under a lock that the system drops when its holder dies, however it dies; scratch that is
found under the lock is therefore left over, and goes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sluiceway.engine.release import VERSION
from sluiceway.processes import held, is_same_process, process_start
from sluiceway.progress import Progress

_STAMP = "engine.json"


@dataclass(frozen=True)
class Store:
    """``root`` is ``<cache>/engine``."""

    root: Path
    version: str = VERSION

    @property
    def home(self) -> Path:
        return self.root / self.version

    @property
    def binary(self) -> Path:
        return self.home / "pulumi"

    def kept(self) -> str | None:
        """``download`` or ``build``: how the engine in the store came there; None if there is none."""
        try:
            stamp = json.loads((self.home / _STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return str(stamp["source"]) if os.access(self.binary, os.X_OK) else None

    @contextmanager
    def locked(self, progress: Progress, poll: float = 0.5) -> Iterator[None]:
        """Holds the store alone; waits, visibly, while another process works in it."""
        self.root.mkdir(parents=True, exist_ok=True)
        waiting = "waiting for another process that is getting the engine"
        with held(self.root / f"{self.version}.lock", progress, waiting, poll):
            self._sweep()
            yield

    @contextmanager
    def scratch(self, progress: Progress) -> Iterator[Path]:
        """A folder for gigabytes of work, gone afterwards whatever happens."""
        folder = self.root / f"scratch-{os.getpid()}"
        folder.mkdir()
        try:
            yield folder
        finally:
            with progress.step("removing scratch folders"):
                remove(folder)

    def put(self, made: Path, source: str) -> None:
        """Moves the finished folder ``made`` (on the same disk) into place."""
        stamp = {
            "source": source,
            "version": self.version,
            "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        (made / _STAMP).write_text(json.dumps(stamp) + "\n", encoding="utf-8")
        if self.home.exists():
            remove(self.home)
        made.rename(self.home)

    def _sweep(self) -> None:
        for folder in self.root.glob("scratch-*"):
            stop_group_of(folder)
            remove(folder)


def remember_group(folder: Path, pid: int) -> None:
    """Notes in scratch that process group ``pid`` works there, for whoever finds it left over."""
    note = {"pid": pid, "started": process_start(pid)}
    (folder / "group.json").write_text(json.dumps(note), encoding="utf-8")


def stop_group_of(folder: Path) -> None:
    """Ends a build that outlived the process that started it, if that very process still runs."""
    try:
        note = json.loads((folder / "group.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if is_same_process(note["pid"], note["started"]):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(note["pid"], signal.SIGKILL)


def remove(folder: Path) -> None:
    """Removes a tree, including folders without write permission (Go makes such)."""

    def unlock(function: Callable[[str], object], path: str, _: object) -> None:
        with suppress(OSError):
            Path(path).parent.chmod(0o700)
            Path(path).chmod(0o700)
            function(path)

    shutil.rmtree(folder, onerror=unlock)


def free_bytes(folder: Path) -> int:
    """Free space on the disk of ``folder`` or of its nearest ancestor that exists."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def write_script(path: Path, text: str) -> bool:
    """Puts an executable file there, whole or not at all; False if it was there already."""
    executable = path.is_file() and path.stat().st_mode & stat.S_IXUSR
    if executable and not path.is_symlink() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(0o755)
    temporary.replace(path)
    return True
