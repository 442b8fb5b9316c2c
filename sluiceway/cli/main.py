"""The command ``sluiceway``: parses, calls, prints. It decides nothing.

Exit codes: 0 done, 1 a failure, 2 a mistake in what was asked or written, 3 aborted by a gate,
130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import metadata
from typing import Annotated

import typer

from sluiceway.cli import engine, gitops, inspect, local, secrets, stages
from sluiceway.cli.output import print_json, print_text, say
from sluiceway.errors import SluicewayError

app = typer.Typer(
    name="sluiceway",
    help="LLMs on Cloudflare's edge: provision a stage, change it, look at it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
stages.register(app)
inspect.register(app)
engine.register(app)
app.add_typer(local.app, name="local")
app.add_typer(secrets.app, name="secrets")
app.add_typer(gitops.app, name="gitops")


@app.callback()
def root(
    verbose: Annotated[bool, typer.Option("--verbose", help="Show a traceback when something fails.")] = False,
) -> None:
    if verbose:
        os.environ["SLUICEWAY_VERBOSE"] = "1"


@app.command()
def version(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """Print the version of this tool."""
    if as_json:
        print_json({"version": metadata.version("sluiceway")})
    else:
        print_text(metadata.version("sluiceway"))


def run() -> None:
    """The entry point: every fault leaves as one block of text (or JSON) and an exit code."""
    try:
        app(prog_name="sluiceway")
    except SluicewayError as error:
        _tell(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # The reader left (`sluiceway local logs | head`); there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as fault:
        _tell(
            SluicewayError(
                f"unexpected {type(fault).__name__}: {fault}",
                hint="run it again as `sluiceway --verbose ...` for the traceback, and report it",
            )
        )
        sys.exit(1)


def _tell(error: SluicewayError) -> None:
    if os.environ.get("SLUICEWAY_VERBOSE"):
        traceback.print_exc()
    if "--json" in sys.argv:
        print_json(error.as_json())
    else:
        say(error.render())
