"""How a command speaks: data to stdout, talk to stderr, one JSON document with ``--json``."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import Annotated

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
StageArgument = Annotated[str, typer.Argument(help="A stage: one of the files in stacks/.", metavar="STAGE")]


class ReaderLeft(Exception):
    """Whoever read our stdout is gone (``sluiceway local logs | head``): there is nobody to tell."""


def open_streams() -> None:
    """Gives stdin, stdout and stderr that the caller closed a place that leads nowhere.

    Left closed, Python has None in their place, and the next file or socket takes their number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def nap(seconds: float) -> None:
    """Sleeps; raises ReaderLeft when nobody reads our stdout any more."""
    time.sleep(seconds)
    watch = select.poll()
    watch.register(sys.stdout.fileno(), 0)
    if watch.poll(0):
        raise ReaderLeft


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
    try:
        buffer.write(text.encode("utf-8"))
        buffer.flush()
    except BrokenPipeError:
        raise ReaderLeft from None
