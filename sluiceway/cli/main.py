"""The command ``sluiceway``: parses, calls, prints. It decides nothing.

Exit codes: 0 done, 1 a failure, 2 a mistake in what was asked or written, 3 aborted by a gate,
130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from importlib import metadata
from typing import Annotated, NoReturn

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError

from sluiceway.cli import (
    cache,
    engine,
    gitops,
    inspect,
    keys,
    local,
    logs,
    models,
    release,
    rollout,
    secrets,
    spend,
    stages,
    top,
)
from sluiceway.cli.output import ReaderLeft, open_streams, print_json, print_text, say
from sluiceway.errors import SluicewayError, UserError

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
logs.register(app)
top.register(app)
spend.register(app)
app.add_typer(local.app, name="local")
app.add_typer(secrets.app, name="secrets")
app.add_typer(keys.app, name="keys")
app.add_typer(cache.app, name="cache")
app.add_typer(rollout.app, name="rollout")
app.add_typer(release.app, name="release")
app.add_typer(models.app, name="models")
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
    open_streams()
    try:
        code = app(prog_name="sluiceway", standalone_mode=False)
    except ReaderLeft:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except NoArgsIsHelpError as asked:
        asked.show()
        sys.exit(asked.exit_code)
    except Exception as fault:
        _leave(_as_error(fault))
    if code == INTERRUPTED:
        _leave(Interrupted("interrupted", hint="run the same command again to go on"))
    sys.exit(code if isinstance(code, int) else 0)


INTERRUPTED = 130


class Interrupted(SluicewayError):
    """Ctrl-C."""

    exit_code = INTERRUPTED


def _as_error(fault: Exception) -> SluicewayError:
    if isinstance(fault, SluicewayError):
        return fault
    if isinstance(fault, ClickException):
        return _usage(fault)
    if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
        hint = "check the space on that disk, and who may write there"
        return SluicewayError(fault.strerror or str(fault), path=str(fault.filename or "output"), hint=hint)
    return SluicewayError(
        f"unexpected {type(fault).__name__}: {fault}",
        hint="run it again as `sluiceway --verbose ...` for the traceback, and report it",
    )


def _usage(fault: ClickException) -> UserError:
    context = getattr(fault, "ctx", None)
    command = context.command_path if context else "sluiceway"
    said = fault.format_message().rstrip(".")
    # A word too many may be a secret that somebody meant to set.
    said = "too many arguments" if said.startswith("Got unexpected extra argument") else said
    return UserError(said, path=command, hint=f"`{command} --help` says how it is called")


def _leave(error: SluicewayError) -> NoReturn:
    try:
        _tell(error)
        sys.stdout.flush()
    except (ReaderLeft, OSError):
        # What could not be written would be tried again as the process ends, which has an exit code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(error.exit_code)


def _tell(error: SluicewayError) -> None:
    if os.environ.get("SLUICEWAY_VERBOSE"):
        traceback.print_exc()
    if "--json" in sys.argv:
        print_json(error.as_json())
    else:
        say(error.render())
