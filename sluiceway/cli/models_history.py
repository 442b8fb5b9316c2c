"""``sluiceway models history``: what became of a model's versions on a stage, in order."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sluiceway.cli import models_list
from sluiceway.cli.context import find_workspace
from sluiceway.cli.models_stage import journal, model_of
from sluiceway.cli.output import JsonFlag, print_json, print_text, say
from sluiceway.cli.rollout_view import printable
from sluiceway.domain.stage import LOCAL
from sluiceway.errors import UserError
from sluiceway.rollouts.history import stamp


def register(app: typer.Typer) -> None:
    app.command("history")(history_)


def history_(
    model: Annotated[str, typer.Argument(help="Like intent.", metavar="MODEL")],
    stage: Annotated[str, typer.Argument(help="Where.", metavar="STAGE")] = LOCAL,
    as_json: JsonFlag = False,
) -> None:
    """Show when each version of MODEL was published to STAGE, and what its rollouts did."""
    workspace, name = find_workspace(), model_of(model)
    found, silent = models_list.rows(workspace, stage, name)
    if not found:
        hint = "`sluiceway models list` shows all models"
        raise UserError("no version of this model, in models/ or in the bucket", path="MODEL", got=name, hint=hint)
    events: list[dict[str, Any]] = [
        {"at": row.published_at.timestamp() * 1000, "what": f"{row.ref} was published"}
        for row in found
        if row.published_at
    ]
    for entry in journal(workspace, stage, name) or []:
        verdicts = {gate.name: gate.verdict for gate in entry.gates}
        events.append({"at": entry.at, "what": entry.sentence, "phase": entry.phase, "verdicts": verdicts})
    events.sort(key=lambda event: float(event["at"]))
    if as_json:
        versions = [models_list.document(row) for row in found]
        print_json({"model": name, "stage": stage, "unknown": silent, "versions": versions, "events": events})
        return
    for event in events:
        judged = ", ".join(f"{gate} {verdict}" for gate, verdict in event.get("verdicts", {}).items())
        print_text(f"{stamp(event['at'])}  {printable(event['what'])}{f'  ({judged})' if judged else ''}")
    for row in found:
        print_text(models_list.line(row))
    for reason in silent:
        say(f"unknown: {reason}")
