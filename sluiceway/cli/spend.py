"""``sluiceway spend STAGE``: what a stage has spent, by key, team and model."""

from __future__ import annotations

import re
from typing import Any, Final

import typer

from sluiceway.cli.gateway import UrlOption, open_admin
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text

_SHARED: Final = "API_KEY"
# The stage's own key has no entry among the keys: the gateway calls it by its digest.
_SHARED_KEY: Final = re.compile("[0-9a-f]{12}")


def register(app: typer.Typer) -> None:
    app.command("spend")(spend)


def spend(stage: StageArgument, url: UrlOption = None, as_json: JsonFlag = False) -> None:
    """Show what STAGE has spent this day and month (UTC), by key, team and model, the dearest first."""
    with open_admin(stage, url) as admin:
        report = admin.spend()
        names = {str(key["id"]): str(key["name"]) for key in admin.list_keys()}
    if as_json:
        print_json(report)
        return
    for period in ("day", "month"):
        total = report[period]
        print_text(f"{period:<6} ${total['usd']:.4f}  {total['requests']} requests  until {total['resets_at']}")
    for budget in report["budgets"]:
        print_text(
            f"budget ${budget['usd']:g} a {budget['period']} for each {budget['scope']}".replace("each stage", "all")
        )
    for part in ("keys", "teams", "models"):
        for line in _table(part, report[part], names if part == "keys" else {}):
            print_text(line)


def _table(part: str, shares: list[dict[str, Any]], names: dict[str, str]) -> list[str]:
    """A heading and a line a share; nothing when there are none."""
    if not shares:
        return []
    rows = [(part, "day", "month", "requests", "tokens in", "tokens out")]
    for share in shares:
        name = str(share["name"])
        known = names.get(name) or (_SHARED if part == "keys" and _SHARED_KEY.fullmatch(name) else None)
        shown = f"{known} ({name})" if known else name
        tokens = (str(share["prompt_tokens"]), str(share["completion_tokens"]))
        rows.append((shown, f"${share['usd_day']:.4f}", f"${share['usd_month']:.4f}", str(share["requests"]), *tokens))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        row[0].ljust(widths[0])
        + "  "
        + "  ".join(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]
    return ["", *lines]
