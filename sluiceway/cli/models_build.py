"""``sluiceway models build``: from a recipe to a package that can be published."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sluiceway.cli.context import find_workspace
from sluiceway.cli.output import JsonFlag, print_json, print_text, say
from sluiceway.progress import Progress
from sluiceway.workspace import Workspace, cache_dir

if TYPE_CHECKING:
    from sluiceway.pipeline.recipe import Recipe
    from sluiceway.pipeline.runner.build import Builder

Recipe_ = Annotated[str, typer.Argument(help="A recipe of models/recipes/, or the path of one.", metavar="RECIPE")]
Dir = Annotated[Path | None, typer.Option("--dir", help="Where to work, else .sluiceway/models/<recipe>.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Make all stages anew, also those that are there.")]
Sweep = Annotated[bool, typer.Option("--sweep", help="Build all variants and compare size, quality and speed.")]


def register(app: typer.Typer) -> None:
    app.command("build")(build_)


def build_(
    recipe: Recipe_, directory: Dir = None, fresh: Fresh = False, sweep: Sweep = False, as_json: JsonFlag = False
) -> None:
    """Fetch, export, optimise, quantise, validate and package the model of RECIPE.

    Stages that are there are kept, so a build that was killed goes on where it was.
    """
    # What these import takes a second, which no other command should pay.
    from sluiceway.pipeline.recipe import load

    workspace = find_workspace()
    found = load(workspace.root, recipe)
    builder = _builder(workspace, found, directory)
    if sweep:
        _sweep(builder, found, fresh, as_json)
    else:
        _build(builder, found, fresh, as_json)


def _builder(workspace: Workspace, recipe: Recipe, directory: Path | None) -> Builder:
    from sluiceway.pipeline.runner.build import Builder
    from sluiceway.pipeline.runner.work import Work

    work = Work((directory or workspace.private / "models" / recipe.name).absolute())
    return Builder(workspace.root, cache_dir() / "models", work, Progress())


def _build(builder: Builder, recipe: Recipe, fresh: bool, as_json: bool) -> None:
    from sluiceway.pipeline.runner import view

    built = builder.build(recipe, fresh)
    failure = view.failure(built)
    if failure is None and as_json:
        print_json(view.document(built))
    if not as_json:
        for line in view.lines(built):
            print_text(line)
    if failure is not None:
        raise failure
    if not as_json and built.package is not None:
        shown = _shown(built.package)
        say(f"package: {shown}; publish it with: sluiceway models publish {shown} --write")


def _sweep(builder: Builder, recipe: Recipe, fresh: bool, as_json: bool) -> None:
    from sluiceway.pipeline.runner import sweep

    swept = sweep.run(builder, recipe, fresh)
    if as_json:
        print_json(swept.document)
        return
    for line in swept.lines:
        print_text(line)
    say(f"plot: {_shown(swept.plot)}")


def _shown(path: Path) -> str:
    """From here where that is shorter to read."""
    beside = os.path.relpath(path)
    return str(path) if beside.startswith("..") else beside
