"""``sluiceway local``: the local stage as a background process."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sluiceway.cli import faults
from sluiceway.cli.context import find_workspace, local_ports, start_local
from sluiceway.cli.output import JsonFlag, nap, print_json, print_text
from sluiceway.errors import SluicewayError, UserError
from sluiceway.local import lifecycle
from sluiceway.local.faults import client
from sluiceway.local.lifecycle import Runtime
from sluiceway.progress import Progress

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Cloudflare in small, on this machine.")
app.add_typer(faults.app, name="faults")


class Log(StrEnum):
    """Which log: the API's, the Workers runtime's, or what Workers print and record."""

    control = "control"
    host = "host"
    workers = "workers"


@app.command()
def start(
    port: Annotated[
        int | None, typer.Option(help="Port of the Workers and of R2's S3 API; 0 takes a free one.")
    ] = None,
    api_port: Annotated[int | None, typer.Option(help="Port of the Cloudflare API; 0 takes a free one.")] = None,
    ai_url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible server that answers instead of the scripted engine.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Start the local stage, or say that it runs."""
    front, api = local_ports(port, api_port)
    runtime = start_local(find_workspace(), Progress(), front_port=front, api_port=api, ai_url=ai_url)
    _print_runtime(runtime, as_json)


@app.command()
def stop(as_json: JsonFlag = False) -> None:
    """Stop the local stage; its data is kept."""
    was_running = lifecycle.stop(find_workspace().local)
    if as_json:
        print_json({"stopped": was_running})
    else:
        print_text("stopped" if was_running else "was not running")


@app.command()
def status(as_json: JsonFlag = False) -> None:
    """Tell whether the local stage runs, where, and with which faults."""
    data = find_workspace().local
    found = lifecycle.status(data)
    active = _faults(data) if found.state == "running" else []
    if as_json:
        print_json({"state": found.state, "detail": found.detail, "faults": active, **_public(found.runtime)})
        return
    print_text(f"{found.state}: {found.detail}")
    for fault in active:
        print_text(f"fault {faults.line(fault)}")


@app.command()
def logs(
    which: Annotated[Log, typer.Argument(help="control, host or workers")] = Log.workers,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many of the last lines.")] = 100,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on as lines are written.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print a log of the local stage."""
    if as_json and follow:
        raise UserError("a log that goes on is no JSON document", path="--json", hint="take -f or --json, not both")
    found = lifecycle.logs(find_workspace().local, which=which.value, lines=lines, follow=follow, sleep=nap)
    if as_json:
        print_json({"log": which.value, "lines": [line.rstrip("\n") for line in found]})
        return
    for line in found:
        print_text(line.rstrip("\n"))


@app.command()
def reset(
    stop_first: Annotated[bool, typer.Option("--stop", help="Stop it first if it runs.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete all of the local stage: resources, objects, logs, token, key, and what Pulumi knows of them."""
    workspace = find_workspace()
    lifecycle.reset(workspace.local, stop_first=stop_first)
    # A state that outlives its resources fails the next update: the engine changes what is no longer there.
    shutil.rmtree(workspace.pulumi_state, ignore_errors=True)
    if as_json:
        print_json({"reset": True})
    else:
        print_text("empty: `sluiceway up local` makes it anew")


def _faults(data: Path) -> list[dict[str, Any]]:
    """Those that are on. A stage of older code has none, and that is no reason to tell nothing of it."""
    try:
        return [fault for fault in client.listed(data) if not fault["ended"]]
    except SluicewayError:
        return []


def _public(runtime: Runtime | None) -> dict[str, object]:
    return asdict(runtime) if runtime else {}


def _print_runtime(runtime: Runtime, as_json: bool) -> None:
    if as_json:
        print_json(_public(runtime))
        return
    print_text(f"Workers  {runtime.front_url}")
    print_text(f"API      {runtime.api_url}")
    print_text(f"S3       {runtime.s3_url}")
