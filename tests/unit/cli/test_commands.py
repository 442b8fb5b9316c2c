"""What every command keeps to, whatever it does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from sluiceway.__main__ import main
from sluiceway.cli.main import app
from tests.warm import Warm


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


def say(*words: str, shell: str) -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it; ``shell`` is what follows it, such as a pipe."""
    line = ["bash", "-o", "pipefail", "-c", f'"$@" {shell}', "bash", sys.executable, "-m", "sluiceway", *words]
    return subprocess.run(
        line, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=60, stdin=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip


ROOT = Path(__file__).resolve().parents[3]
MISTAKES = [("up",), ("up", "local", "--nope"), ("nope",), ("local", "logs", "nope"), ("local", "logs", "-n", "x")]


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_in_the_call_is_told_as_every_other(words: tuple[str, ...], warm: Warm) -> None:
    plain = warm.run(words, cwd=ROOT)
    assert plain.code == 2
    assert plain.err.startswith("error: sluiceway")
    assert "hint: `sluiceway" in plain.err
    told = warm.run((*words, "--json"), cwd=ROOT)
    assert told.code == 2
    assert json.loads(told.out)["exit_code"] == 2
    assert told.err == ""


def test_a_word_too_many_is_not_repeated_since_it_may_be_a_secret(warm: Warm) -> None:
    for more in ((), ("--json",)):
        done = warm.run(("secrets", "set", "local", "API_KEY", "sk-canary", *more), cwd=ROOT)
        assert done.code == 2
        assert "canary" not in done.out + done.err


def test_a_log_that_goes_on_and_one_document_exclude_each_other(warm: Warm) -> None:
    done = warm.run(("local", "logs", "-f", "--json"), cwd=ROOT)
    assert (done.code, json.loads(done.out)["path"]) == (2, "--json")


@pytest.mark.parametrize(
    ("shell", "code"),
    [(">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0), ("| true", 0), (">/dev/full", 1)],
)
def test_streams_that_are_closed_left_or_full_are_no_surprise(shell: str, code: int) -> None:
    done = say("models", shell=shell)
    assert done.returncode == code, done.stderr
    assert "unexpected" not in done.stderr
    assert "Traceback" not in done.stderr


def test_following_a_log_ends_when_its_reader_leaves() -> None:
    assert say("local", "logs", "-f", shell="| true").returncode == 0


def test_ctrl_c_while_the_command_is_still_imported_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "sluiceway.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "sluiceway.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
    assert capsys.readouterr().err.startswith("error: interrupted")
