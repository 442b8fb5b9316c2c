"""``sluiceway local faults``: makes the local stage's models, or its Cloudflare API, slow, busy, broken or gone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from sluiceway import catalog
from sluiceway.cli.context import find_workspace
from sluiceway.cli.output import JsonFlag, print_json, print_text
from sluiceway.domain.model import Model
from sluiceway.errors import UserError
from sluiceway.local.faults import client
from sluiceway.local.faults.fault import is_known
from sluiceway.workspace import Workspace

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Faults of the local stage's models and of its Cloudflare API. A restart of the stage ends all of them.",
)


class Backend(StrEnum):
    """Calls of ``env.AI``, or those to the OpenAI-compatible URL."""

    workers_ai = "workers-ai"
    openai = "openai"


class Broken(StrEnum):
    """What is no JSON: the answer (or one event of it), or the arguments of a tool call."""

    json = "json"
    tool = "tool"


ApiOption = Annotated[
    list[str] | None,
    typer.Option(help="Not of models: calls of Cloudflare's API, by product (kv, deployments, r2-s3) or all."),
]
PathsOption = Annotated[
    list[str] | None, typer.Option(help="Of those, only paths such as '/queues*' below the account or zone.")
]
MethodOption = Annotated[list[str] | None, typer.Option(help="Of those, only this method, such as POST.")]
AfterOption = Annotated[
    bool, typer.Option("--after", help="With --api: the call is done, only its answer is lost or late.")
]


@app.command()
def add(
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model (chat), a version (chat@2), an id, or a pattern such as '*kimi*'. Again for more."),
    ] = None,
    backend: Annotated[Backend | None, typer.Option(help="Only calls of this backend.")] = None,
    api: ApiOption = None,
    path: PathsOption = None,
    method: MethodOption = None,
    after: AfterOption = False,
    status: Annotated[int | None, typer.Option(help="Refuse with this HTTP status.")] = None,
    code: Annotated[int | None, typer.Option(help="Refuse with this code, such as 3040 of Workers AI.")] = None,
    retry_after: Annotated[int | None, typer.Option(help="Seconds told by a refusal.")] = None,
    delay_ms: Annotated[int | None, typer.Option(help="Milliseconds before the first token, or the answer.")] = None,
    tokens_per_second: Annotated[float | None, typer.Option(help="No faster than this.")] = None,
    cut_after: Annotated[int | None, typer.Option(help="End the connection after so many tokens.")] = None,
    broken: Annotated[Broken | None, typer.Option(help="Send what is no JSON.")] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="The model declines to answer.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="End the connection before any answer.")] = False,
    share: Annotated[float | None, typer.Option(help="Of the calls, from 0 to 1. Without it, all.")] = None,
    seconds: Annotated[float | None, typer.Option(help="End after so many seconds.")] = None,
    count: Annotated[int | None, typer.Option(help="End after so many calls hit.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the share's chance; the same seed hits the same calls.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Add a fault: effects may be combined, and the first fault that hits a call decides."""
    workspace = find_workspace()
    given = {
        "api": api or (["all"] if path or method or after else None), "paths": path, "methods": method, "after": after,
        "models": _ids(workspace, model) if model else None, "backend": backend, "status": status, "code": code,
        "retry_after": retry_after, "delay_ms": delay_ms, "tokens_per_second": tokens_per_second,
        "cut_after": cut_after, "broken": broken, "refuse": refuse, "drop": drop, "share": share,
        "seconds": seconds, "count": count, "seed": seed,
    }  # fmt: skip
    stated = {name: value for name, value in given.items() if value is not None and value is not False}
    added = client.add(workspace.local, stated)
    print_json(added) if as_json else print_text(line(added))


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the faults, in the order in which they are tried."""
    found = client.listed(find_workspace().local)
    if as_json:
        print_json(found)
        return
    for fault in found:
        print_text(line(fault))
    if not found:
        print_text("none")


@app.command()
def clear(
    number: Annotated[int | None, typer.Argument(help="One fault's number; without it, all.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Take one fault off, or all."""
    cleared = client.clear(find_workspace().local, number)
    if as_json:
        print_json({"cleared": cleared})
    else:
        print_text(f"cleared {cleared}")


def line(fault: Mapping[str, Any]) -> str:
    """A fault on one line: ``1  glm-4.7-flash  status 429, share 0.5  hit 3 of 7``."""
    shown = ("id", "models", "api", "paths", "methods", "considered", "hits", "seconds_left", "ended")
    said = ", ".join(name if value is True else f"{name} {value}" for name, value in fault.items() if name not in shown)
    left = fault["seconds_left"]
    end = "  ended" if fault["ended"] else "" if left is None else f"  {left} s left"
    return f"{fault['id']}  {_of(fault)}  {said}  hit {fault['hits']} of {fault['considered']}{end}"


def _of(fault: Mapping[str, Any]) -> str:
    """Whose calls: models, or products of the API with paths and methods."""
    if "api" in fault:
        return " ".join(["api", *(",".join(fault[name]) for name in ("api", "methods", "paths") if fault.get(name))])
    return ", ".join(str(name).rsplit("/", 1)[-1] for name in fault.get("models", ())) or "every model"


def _ids(workspace: Workspace, names: list[str]) -> list[str]:
    """What the local stage calls these models: the catalogue's names become the ids of their versions."""
    if all(name.startswith("@") or "*" in name for name in names):
        return names
    models = {model.name: model for model in catalog.load(workspace).models}
    return [found for name in names for found in _ids_of(models, name)]


def _ids_of(models: Mapping[str, Model], name: str) -> list[str]:
    model = models.get(name.partition("@")[0])
    if model is None:
        if is_known(name):
            return [name]
        mine = ", ".join(each.name for each in models.values() if any(version.id for version in each.versions))
        hint = f"one of {mine}; a version such as chat@2; an id of Workers AI; or a pattern such as '*kimi*'"
        raise UserError("no such model", path="--model", got=name, hint=hint)
    found = [version.id for version in model.versions if name in (model.name, str(version.ref)) and version.id]
    if not found:
        known = ", ".join(str(version.ref) for version in model.versions if version.id)
        hint = f"versions that the local stage answers for: {known}" if known else "its versions run elsewhere"
        raise UserError("no such version", path="--model", got=name, hint=hint)
    return list(dict.fromkeys(found))
