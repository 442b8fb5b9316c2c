"""``sluiceway gitops``: what the workflows call on a pull request and on its merge."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from sluiceway import settings
from sluiceway.cli.context import find_workspace
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text
from sluiceway.cli.release_view import told_proof
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.gitops.changed import changed_paths, changed_stages
from sluiceway.gitops.comment import PreviewReport, PreviewStep, PullRequest, markdown, upsert

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What CI calls on a pull request and its merge.")


@app.command()
def stages(
    base: Annotated[str, typer.Option(help="The commit or branch to compare with.")] = "origin/main",
    as_json: JsonFlag = False,
) -> None:
    """List the stages that the commits since BASE touch; the local stage is left out."""
    workspace = find_workspace()
    known = [stage for stage in settings.stages(workspace) if stage != LOCAL]
    touched = changed_stages(changed_paths(workspace.root, base), known)
    if as_json:
        print_json(list(touched))
    else:
        for stage in touched:
            print_text(stage)


@app.command()
def comment(
    stage: StageArgument,
    preview: Annotated[Path, typer.Option(help="What `sluiceway preview STAGE --json` printed.")],
    pull: Annotated[
        int | None, typer.Option("--pr", min=1, help="The pull request; without it, print the text.")
    ] = None,
    commit: Annotated[str | None, typer.Option(help="The commit that was previewed.")] = None,
    proof: Annotated[Path | None, typer.Option(help="What `sluiceway release proof STAGE --json` printed.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the preview of STAGE as a pull request's comment, in place of the last one."""
    report = _read(stage, preview)
    body = markdown(replace(report, proof=told_proof(_document(proof, _PROVED_BY)) if proof else ()), commit)
    url = _post(PullRequest(_variable("GITHUB_REPOSITORY"), pull), stage, body) if pull else None
    if as_json:
        print_json({"stage": stage, "url": url, "body": body})
    else:
        print_text(url or body)


def _post(pull: PullRequest, stage: str, body: str) -> str:
    headers = {"authorization": f"Bearer {_variable('GITHUB_TOKEN')}", "accept": "application/vnd.github+json"}
    base = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    with httpx.Client(base_url=base, headers=headers, timeout=30) as client:
        return upsert(client, pull, stage, body)


_MADE_BY = "write it with `sluiceway preview STAGE --json`"
_PROVED_BY = "write it with `sluiceway release proof STAGE --json`"


def _read(stage: str, path: Path) -> PreviewReport:
    document = _document(path, _MADE_BY)
    if "error" in document:
        return PreviewReport(stage, {}, (), error=str(document["error"]))
    steps = tuple(
        PreviewStep(step["op"], step["type"], step["name"], tuple(step.get("changed", ())))
        for step in document.get("steps", ())
    )
    rollouts = tuple(str(sentence) for sentence in document.get("rollouts", ()))
    return PreviewReport(stage, document.get("changes", {}), steps, rollouts)


def _document(path: Path, made_by: str) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise UserError(f"is not what the command prints: {fault}", path=str(path), hint=made_by) from fault
    if not isinstance(document, dict):
        raise UserError("is not what the command prints: no JSON object", path=str(path), hint=made_by)
    return document


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UserError(
            "this variable is not set", path=name, hint="GitHub sets it in a workflow; set it yourself elsewhere"
        )
    return value
