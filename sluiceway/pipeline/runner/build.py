"""Makes a recipe's stages one after the other, keeps what is there, and stops where a limit isn't kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluiceway.pipeline.recipe import Recipe
from sluiceway.pipeline.runner import record, spawn
from sluiceway.pipeline.runner.plan import Plan, plan
from sluiceway.pipeline.runner.record import Record
from sluiceway.pipeline.runner.spawn import Job, Outcome
from sluiceway.pipeline.runner.stage import Stage
from sluiceway.pipeline.runner.work import Work
from sluiceway.pipeline.signing.call import named_key
from sluiceway.pipeline.signing.environment import SIGNING
from sluiceway.pipeline.torch_export import choice
from sluiceway.pipeline.torch_export.environment import TORCH
from sluiceway.progress import Progress, human_seconds

_CALL = "sluiceway.pipeline.runner.steps:run"


@dataclass(frozen=True)
class Made:
    """A stage and its record; ``kept``: it was there before this build."""

    stage: Stage
    record: Record
    kept: bool


@dataclass(frozen=True)
class Built:
    """``package`` is the folder to publish; None when a limit wasn't kept. ``missed``: those limits, with numbers."""

    recipe: Recipe
    made: tuple[Made, ...]
    package: Path | None
    missed: tuple[str, ...]


@dataclass(frozen=True)
class Builder:
    """``root``: the checkout; ``cache``: where fetched sources are kept. ``run`` starts a stage's process.

    ``torch`` and ``signer`` give the interpreters that have torch and model-signing, and install them if need be.
    ``env``: where the key of a package that is to be signed is named.
    """

    root: Path
    cache: Path
    work: Work
    progress: Progress
    run: Callable[[Job], Outcome] = spawn.run
    torch: Callable[[Progress], Path] = TORCH.python
    signer: Callable[[Progress], Path] = SIGNING.python
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time

    def build(self, recipe: Recipe, fresh: bool = False) -> Built:
        """All stages of ``recipe``; ``fresh``: made anew, whatever is there.

        Raises what a stage raised, with its name. A limit that isn't kept is told in the result.
        """
        planned = plan(recipe, self.root)
        if recipe.package.signature:
            named_key(self.env)  # told before an hour's work, not after it
        with self.work.locked(self.progress, recipe.name):
            if fresh:
                self.work.forget()
            self.progress.say(f"{recipe.name}: {self.foresee(planned)}")
            built = self._build(recipe, planned)
            self.work.prune(planned.stages, self.now())
            return built

    def _build(self, recipe: Recipe, planned: Plan) -> Built:
        made: list[Made] = []
        for stage in planned.stages:
            if stage is planned.package and (missed := _missed(made[-1])):
                return Built(recipe, tuple(made), None, missed)
            made.append(self.make(recipe, stage, planned, made))
        return Built(recipe, tuple(made), self.work.out(planned.package), ())

    def make(self, recipe: Recipe, stage: Stage, planned: Plan, before: list[Made], label: str = "") -> Made:
        """One stage, kept or made, for which those ``before`` it are there. ``label`` follows the recipe's name."""
        number = f"{len(before) + 1}/{len(planned.stages)}"
        if found := self.work.finished(stage):
            return Made(stage, found, True)
        own = self._own(recipe, stage)
        title = f"{recipe.name}{label} {number} {stage.kind}"
        with self.progress.step(title, self.work.expected(stage)) as note, self.work.making(stage) as scratch:
            started = self.clock()
            outcome = self.run(self._job(recipe, stage, before, scratch / record.OUT, own))
            seconds = self.clock() - started
            peak = max(outcome.peak_mb, outcome.report.get("torch", {}).get("peak_mb", 0.0))
            made = record.made(stage, scratch / record.OUT, outcome.report, seconds, peak)
            note(f"peak {peak:.0f} MB")
            self.work.keep(stage, scratch, made)
        return Made(stage, made, False)

    def _own(self, recipe: Recipe, stage: Stage) -> dict[str, str]:
        """Interpreters of their own that the stage needs: an installation shows its progress only from here."""
        if stage.kind == "export" and choice.tool(recipe.export, self.work.out(stage.inputs[0])) == "torch":
            return {"torch": str(self.torch(self.progress))}
        if stage.kind == "package" and recipe.package.signature:
            return {"signer": str(self.signer(self.progress))}
        return {}

    def _job(self, recipe: Recipe, stage: Stage, before: list[Made], out: Path, own: Mapping[str, str]) -> Job:
        arguments: dict[str, Any] = {
            "root": str(self.root),
            "cache": str(self.cache),
            "file": str(recipe.folder / f"{recipe.name}.yaml"),
            "document": dict(recipe.document),
            "kind": stage.kind,
            "block": stage.block,
            "inputs": [str(self.work.out(each)) for each in stage.inputs],
            "reports": [{"kind": each.stage.kind, **each.record.report} for each in before],
            "out": str(out),
            **own,
        }
        return Job(_CALL, arguments, f"{recipe.file}: {stage.kind}", signs="signer" in own)

    def foresee(self, planned: Plan) -> str:
        """``6 stages, 2 of them there, the others took about 40 s the last time``."""
        missing = [stage for stage in planned.stages if not (self.work.folder(stage) / record.NAME).is_file()]
        known = [seconds for stage in missing if (seconds := self.work.expected(stage)) is not None]
        there = len(planned.stages) - len(missing)
        text = f"{len(planned.stages)} stages, {there} of them there"
        return f"{text}; the others took about {human_seconds(sum(known))} the last time" if known else text


def _missed(validated: Made) -> tuple[str, ...]:
    """The limits that weren't kept, each with its numbers, as the report of the validation says."""
    return tuple(validated.record.report["reasons"])
