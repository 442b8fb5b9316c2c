"""``sluiceway models``: what is served, and the way of a model from its weights to a stage. A command a file."""

from __future__ import annotations

import typer

from sluiceway import catalog
from sluiceway.cli import (
    models_build,
    models_evaluate,
    models_fit,
    models_gc,
    models_history,
    models_list,
    models_lora,
    models_publish,
    models_pull,
    models_show,
    models_sign,
    models_verify,
)
from sluiceway.cli.context import find_workspace
from sluiceway.cli.output import JsonFlag, print_json, print_text

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="List the models and versions; build, publish, look over and hold one to another.",
)


@app.callback()
def models(context: typer.Context, as_json: JsonFlag = False) -> None:
    """List the models, their versions and what answers each."""
    if context.invoked_subcommand is not None:
        return
    rows = [
        {"version": str(version.ref), "backend": version.backend, "id": version.id, "lora": version.lora}
        for model in catalog.load(find_workspace()).models
        for version in model.versions
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        adapter = f" + {row['lora']}" if row["lora"] else ""
        print_text(f"{row['version']:<12} {row['backend']:<11} {row['id'] or ''}{adapter}".rstrip())


for verb in (
    models_build,
    models_evaluate,
    models_fit,
    models_sign,
    models_verify,
    models_publish,
    models_lora,
    models_pull,
    models_list,
    models_show,
    models_history,
    models_gc,
):
    verb.register(app)
