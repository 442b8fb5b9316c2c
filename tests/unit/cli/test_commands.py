"""What every command keeps to, whatever it does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.main import get_command

from sluiceway.cli.main import app


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, command in getattr(group, "commands").items():  # noqa: B009
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(get_command(app)))


def test_there_are_commands() -> None:
    assert {("up",), ("preview",), ("env",), ("engine",), ("local", "start"), ("gitops", "comment")} <= set(ALL)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_json_and_says_what_it_does(path: tuple[str, ...]) -> None:
    command = ALL[path]
    options = [option for parameter in command.params for option in parameter.opts]  # type: ignore[attr-defined]
    assert "--json" in options
    assert (command.help or "").strip().endswith((".", '"'))  # type: ignore[attr-defined]
