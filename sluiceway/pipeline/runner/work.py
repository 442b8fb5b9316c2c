"""The work directory of a recipe: a folder a stage by digest, the lock, and how long stages took.

What isn't finished lies under a name that begins with a dot, and goes when the next build takes the lock.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.runner import record
from sluiceway.pipeline.runner.record import Record
from sluiceway.pipeline.runner.stage import Stage
from sluiceway.processes import held
from sluiceway.progress import Progress

_MAKING = ".making-"
_TIMES = "times.json"
_LOCK = "lock"
_DIGITS = 64
KEPT_DAYS = 14


@dataclass(frozen=True)
class Work:
    """``root``: ``.sluiceway/models/NAME``, or what was asked for."""

    root: Path

    @contextmanager
    def locked(self, progress: Progress, name: str, poll: float = 0.2) -> Iterator[None]:
        """Holds the directory alone; waits, visibly, while another build of the recipe works in it."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            hint = "name a folder, or a place for a new one"
            raise SluicewayError("isn't a folder to work in", path=str(self.root), hint=hint) from None
        with held(self.root / _LOCK, progress, f"waiting for another build of {name}", poll):
            self._sweep()
            yield

    def folder(self, stage: Stage) -> Path:
        return self.root / stage.digest

    def out(self, stage: Stage) -> Path:
        """Where the files of a finished stage lie."""
        return self.folder(stage) / record.OUT

    def finished(self, stage: Stage) -> Record | None:
        """The record of ``stage``, when it was made before and nobody has touched its files."""
        found = record.read(self.folder(stage))
        if found is None or found.digest != stage.digest:
            return None
        os.utime(self.folder(stage))
        return found

    @contextmanager
    def making(self, stage: Stage) -> Iterator[Path]:
        """An empty folder to make ``stage`` in; gone when the body fails, unless `keep` has moved it."""
        scratch = self.root / f"{_MAKING}{stage.digest[:16]}-{os.getpid()}"
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / record.OUT).mkdir(parents=True)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def keep(self, stage: Stage, scratch: Path, made: Record) -> None:
        """Gives the folder that `making` lent its name, with stage.json in it: from here on the stage is finished."""
        record.write(made, scratch)
        target = self.folder(stage)
        if target.exists():  # what was in it isn't what was made, or `finished` had said so
            shutil.rmtree(target)
        scratch.rename(target)
        self._remember(made)

    def forget(self) -> None:
        """Removes all stages, finished or not."""
        for folder in self._stages():
            shutil.rmtree(folder)

    def prune(self, used: tuple[Stage, ...], now: float) -> int:
        """Removes stages that no build has used for KEPT_DAYS days, and says how many; ``now``: seconds since 1970."""
        kept = {stage.digest for stage in used}
        old = [
            folder
            for folder in self._stages()
            if folder.name not in kept and now - folder.stat().st_mtime > KEPT_DAYS * 86_400
        ]
        for folder in old:
            shutil.rmtree(folder, ignore_errors=True)
        return len(old)

    def expected(self, stage: Stage) -> float | None:
        """Seconds that a stage of this kind took the last time; None when there was none."""
        found = self._times().get(stage.kind)
        return float(found) if isinstance(found, int | float) else None

    def _stages(self) -> list[Path]:
        return [path for path in sorted(self.root.iterdir()) if path.is_dir() and len(path.name) == _DIGITS]

    def _times(self) -> dict[str, object]:
        try:
            found = json.loads((self.root / _TIMES).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _remember(self, made: Record) -> None:
        times = {**self._times(), made.stage: made.seconds}
        making = self.root / f".{_TIMES}"
        making.write_text(json.dumps(times, indent=1, sort_keys=True), encoding="utf-8")
        making.replace(self.root / _TIMES)

    def _sweep(self) -> None:
        for left in self.root.glob(f"{_MAKING}*"):
            shutil.rmtree(left, ignore_errors=True)
        with suppress(OSError):
            (self.root / f".{_TIMES}").unlink(missing_ok=True)
