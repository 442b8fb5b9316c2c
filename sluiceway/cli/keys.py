"""``sluiceway keys``: the API keys of a stage's callers. A key's text is on stdout once, alone, and kept nowhere."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from sluiceway.cli.gateway import UrlOption, open_admin
from sluiceway.cli.output import JsonFlag, StageArgument, print_json, print_text, say
from sluiceway.cloudflare.gateway_admin import GatewayAdmin
from sluiceway.errors import UserError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="API keys of a stage's callers.")

KeyArgument = Annotated[str, typer.Argument(help="A key's id, or the name of an active one.", metavar="KEY")]
Models = Annotated[
    list[str] | None, typer.Option("--model", help="A model (chat) or version (chat@2) it may use; again for more.")
]
Budgets = Annotated[
    list[str] | None,
    typer.Option("--budget", help="5/day or 100/month, in US dollars; 5/day:chat-small goes on with that model."),
]
Rate = Annotated[int | None, typer.Option(min=1)]
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_COLUMNS = ("id", "name", "owner", "team", "models", "limits", "state", "expires")


@app.command()
def create(
    stage: StageArgument,
    name: Annotated[str, typer.Argument(help="What people call it; one active key has it.", metavar="NAME")],
    owner: Annotated[str | None, typer.Option(help="Who answers for it.")] = None,
    team: Annotated[str | None, typer.Option(help="The team whose budget it counts against.")] = None,
    model: Models = None,
    requests_per_minute: Rate = None,
    tokens_per_minute: Rate = None,
    budget: Budgets = None,
    expires: Annotated[str | None, typer.Option(help="How long it is good: 90d, 12h.")] = None,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a key for STAGE and print its text, this once."""
    spec: dict[str, object] = {
        "name": name,
        "owner": owner,
        "team": team,
        "models": model or None,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "budgets": [_budget(text) for text in budget or ()],
        "expires_in": None if expires is None else _seconds(expires, "--expires", least=1),
    }
    with open_admin(stage, url) as admin:
        made = admin.create_key(spec)
    _show(made, f"key {made['id']} ({made['name']}) was made; its text is shown this once", as_json)


@app.command("list")
def list_(
    stage: StageArgument,
    all_: Annotated[bool, typer.Option("--all", help="Revoked and expired ones too.")] = False,
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """List STAGE's keys, without their texts, which nobody has."""
    with open_admin(stage, url) as admin:
        found = [key for key in admin.list_keys() if all_ or key["state"] == "active"]
    if as_json:
        print_json(found)
        return
    rows = [_COLUMNS, *(_row(key) for key in found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    for row in rows:
        print_text("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@app.command()
def rotate(
    stage: StageArgument,
    key: KeyArgument,
    grace: Annotated[str, typer.Option(help="How long the old text stays good: 24h, 0 for not at all.")] = "24h",
    url: UrlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Give KEY a new text, and print it, this once; the old one stays good for a while."""
    seconds = _seconds(grace, "--grace", least=0)
    with open_admin(stage, url) as admin:
        made = admin.rotate_key(_find(admin, stage, key), seconds)
    until = made["old_secret_until"]
    old = f"the old one is good until {until}" if until else "the old one is refused from now on"
    _show(made, f"key {made['id']} ({made['name']}) has a new text, shown this once; {old}", as_json)


@app.command()
def revoke(stage: StageArgument, key: KeyArgument, url: UrlOption = None, as_json: JsonFlag = False) -> None:
    """Close KEY for good: it is refused everywhere within 2 seconds."""
    with open_admin(stage, url) as admin:
        closed = admin.revoke_key(_find(admin, stage, key))
    if as_json:
        print_json(closed)
    else:
        print_text(f"key {closed['id']} ({closed['name']}) is revoked")


def _find(admin: GatewayAdmin, stage: str, wanted: str) -> str:
    found = admin.list_keys()
    ids = [str(key["id"]) for key in found if key["id"] == wanted]
    named = [str(key["id"]) for key in found if key["name"] == wanted and key["state"] == "active"]
    for match in (*ids, *named):
        return match
    # Somebody may have pasted the key itself.
    got = "[a key's text]" if wanted.startswith("sk-slw-") else wanted
    known = ", ".join(str(key["name"]) for key in found if key["state"] == "active") or "none"
    closed = any(key["name"] == wanted for key in found)
    what = "the key of this name is revoked or expired" if closed else "no such key"
    raise UserError(what, path=f"keys of {stage}", got=got, hint=f"active: {known}")


def _show(made: dict[str, Any], told: str, as_json: bool) -> None:
    if as_json:
        print_json(made)
    else:
        say(told)
        print_text(str(made["key"]))


def _row(key: dict[str, Any]) -> tuple[str, ...]:
    limits = [
        *([f"{key['requests_per_minute']} req/min"] if key["requests_per_minute"] else []),
        *([f"{key['tokens_per_minute']} tok/min"] if key["tokens_per_minute"] else []),
        *(f"${budget['usd']:g}/{budget['period']}" for budget in key["budgets"]),
    ]
    models = "all" if key["models"] is None else ",".join(key["models"])
    expires = (key["expires_at"] or "never")[:10]
    texts = (key["id"], key["name"], key["owner"], key["team"], models, ", ".join(limits), key["state"], expires)
    return tuple(str(text) if text else "-" for text in texts)


def _seconds(text: str, path: str, *, least: int) -> int:
    """``90d``, ``12h``, ``30m``, ``45s`` or ``0`` -> seconds."""
    match = re.fullmatch(r"([0-9]{1,9})([smhd])|0", text)
    seconds = int(match[1]) * _UNITS[match[2]] if match and match[1] else 0
    if match is None or seconds < least:
        raise UserError("is no length of time", path=path, got=text, hint="a number and s, m, h or d: 90d, 12h")
    return seconds


def _budget(text: str) -> dict[str, object]:
    """``5/day`` or ``5/day:chat-small`` -> a budget as the gateway takes it."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)/(day|month)(?::(.+))?", text)
    if match is None:
        hint = "US dollars a day or month: 5/day, 100/month, 5/day:chat-small"
        raise UserError("is no budget", path="--budget", got=text, hint=hint)
    return {"usd": float(match[1]), "period": match[2], "fall_to": match[3]}
