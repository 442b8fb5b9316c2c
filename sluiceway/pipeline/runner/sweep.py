"""All variants of a recipe: the same source and export, other passes, each validated; a table, a plot, what is best."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.recipe import Recipe
from sluiceway.pipeline.recipe.load import Passes, parse_pass
from sluiceway.pipeline.runner.build import Builder, Made
from sluiceway.pipeline.runner.plan import Plan, plan
from sluiceway.pipeline.runner.stage import Stage
from sluiceway.pipeline.validate.cpu import Cpu
from sluiceway.pipeline.validate.pareto import pareto, variant
from sluiceway.pipeline.validate.plot import svg
from sluiceway.pipeline.validate.report import Report, Speed
from sluiceway.pipeline.validate.table import plain

PLOT = "sweep.svg"
DOCUMENT = "sweep.json"
_FOLD: Mapping[str, Any] = {"kind": "fold"}
_DEFAULTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "fp32": (),
    "fp16": (_FOLD, {"kind": "fp16"}),
    "int8-dynamic": (_FOLD, {"kind": "int8-dynamic"}),
    "int8-weights": (_FOLD, {"kind": "int8-weights"}),
    "int4-weights-32": (_FOLD, {"kind": "int4-weights", "block": 32}),
    "int4-weights-128": (_FOLD, {"kind": "int4-weights", "block": 128}),
}


@dataclass(frozen=True)
class Swept:
    """``document``: ``{recipe, model, plot, variants: [{name, passes, best, failed, digest, report}]}``."""

    lines: tuple[str, ...]
    document: dict[str, Any]
    plot: Path


def variants(recipe: Recipe) -> dict[str, Passes]:
    """The recipe's own passes as ``recipe``, then its variants; without any, the usual ones."""
    stated = dict(recipe.variants) or {
        name: tuple(parse_pass(recipe.folder, raw, name, recipe.where) for raw in blocks)
        for name, blocks in _DEFAULTS.items()
    }
    return {"recipe": recipe.passes, **{name: passes for name, passes in stated.items() if passes != recipe.passes}}


def run(builder: Builder, recipe: Recipe, fresh: bool) -> Swept:
    """Builds and validates each variant; one that can't be made is told with its reason, and the others go on."""
    asked = variants(recipe)
    plans = {name: plan(recipe, builder.root, passes) for name, passes in asked.items()}
    with builder.work.locked(builder.progress, recipe.name):
        if fresh:
            builder.work.forget()
        made, failed = _all(builder, recipe, plans)
        used = tuple(stage for planned in plans.values() for stage in planned.stages)
        builder.work.prune(used, builder.now())
        return _told(builder, recipe, asked, made, failed)


def _all(
    builder: Builder, recipe: Recipe, plans: Mapping[str, Plan]
) -> tuple[dict[str, Made], dict[str, SluicewayError]]:
    made: dict[str, Made] = {}
    failed: dict[str, SluicewayError] = {}
    for name, planned in plans.items():
        before: list[Made] = []
        for stage in planned.stages[:-1]:  # a variant is compared, not packaged
            try:
                before.append(builder.make(recipe, stage, planned, before, f" {name}"))
            except SluicewayError as error:
                if not _is_its_own(stage, planned):
                    raise
                failed[name] = error
                break
        else:
            made[name] = before[-1]
    return made, failed


def _is_its_own(stage: Stage, planned: Plan) -> bool:
    """Whether only this variant needs the stage: what all of them stand on fails the sweep."""
    return stage in planned.passes or stage is planned.validate


def _told(
    builder: Builder,
    recipe: Recipe,
    asked: Mapping[str, Passes],
    made: Mapping[str, Made],
    failed: Mapping[str, SluicewayError],
) -> Swept:
    reports = {name: report_of(each.record.report) for name, each in made.items()}
    best = {row.name for row in pareto([variant(name, report) for name, report in reports.items()])}
    plot = builder.work.root / PLOT
    _write(plot, svg(f"{recipe.name}: size, quality, speed", reports) if reports else "<svg/>\n")
    document: dict[str, Any] = {
        "recipe": recipe.name,
        "model": recipe.model,
        "plot": str(plot),
        "variants": [_row(name, asked[name], name in best, made.get(name), failed.get(name)) for name in asked],
    }
    _write(builder.work.root / DOCUMENT, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    lines = [*plain(reports).splitlines()] if reports else []
    lines += [f"{name}: {reason}" for name, report in reports.items() for reason in report.reasons]
    lines += [f"{name} can't be made: {error}" for name, error in failed.items()]
    lines.append("* nothing else passes that is smaller, better and faster")
    return Swept(tuple(lines), document, plot)


def _row(name: str, passes: Passes, best: bool, made: Made | None, failed: SluicewayError | None) -> dict[str, Any]:
    return {
        "name": name,
        "passes": [block.model_dump(mode="json") for block in passes],
        "best": best,
        "failed": None if failed is None else failed.as_json(),
        "digest": None if made is None else made.stage.digest,
        "report": None if made is None else made.record.report,
    }


def report_of(document: Mapping[str, Any]) -> Report:
    """A report from its document: what fails it stands in ``faults``, as it was told."""
    figures = {name: math.nan if value is None else float(value) for name, value in document["figures"].items()}
    speeds = [None if document[key] is None else Speed(**document[key]) for key in ("speed", "reference_speed")]
    return Report(
        task=document["task"],
        figures=figures,
        findings=(),
        faults=tuple(document["reasons"]),
        unlike=(),
        cpu=Cpu(**{**document["cpu"], "flags": tuple(document["cpu"]["flags"])}),
        speed=speeds[0],
        reference_speed=speeds[1],
    )


def _write(path: Path, text: str) -> None:
    making = path.with_name(f".{path.name}")
    making.write_text(text, encoding="utf-8")
    making.replace(path)
