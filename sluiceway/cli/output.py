"""How a command speaks: data to stdout, talk to stderr, one JSON document with ``--json``."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
StageArgument = Annotated[str, typer.Argument(help="A stage: one of the files in stacks/.", metavar="STAGE")]


def print_json(document: object) -> None:
    """The document on stdout, indented, in UTF-8 whatever the locale."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    _write(text)


def print_text(text: str = "") -> None:
    _write(text + "\n")


def say(text: str) -> None:
    """Talk for a person: not part of the data."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _write(text: str) -> None:
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a test's StringIO
        sys.stdout.write(text)
        return
    buffer.write(text.encode("utf-8"))
    buffer.flush()
