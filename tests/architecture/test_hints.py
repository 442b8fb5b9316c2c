"""Every error that is the person's to mend says what to do about it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import typer.main

from sluiceway.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("sluiceway", "infra", "models", "scripts")
TOLD = ("UserError", "Fault")


def test_every_error_for_a_person_is_made_with_a_hint() -> None:
    made = [(path, node) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") for node in calls(path)]
    assert len(made) > 60
    bare = [f"{path.relative_to(ROOT)}:{node.lineno}" for path, node in made if not has_hint(node)]
    assert bare == [], "give each a hint=, which says what to do (or fault.hint, when it is told again)"


def test_a_construction_without_a_hint_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text("UserError('a')\nerrors.UserError('b', hint=None)\nFault('c', hint='')\nFault('d', hint=x)\n")
    assert [has_hint(node) for node in calls(file)] == [False, False, False, True]


def test_every_command_that_a_text_names_is_one() -> None:
    texts = [(path, text) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") for text in strings(path)]
    texts += [(path, path.read_text("utf-8")) for path in documents()]
    named = [(path, words.split()) for path, text in texts for words in COMMAND.findall(text) if words not in PROSE]
    assert len(named) > 25
    wrong = [f"{path.relative_to(ROOT)}: sluiceway {' '.join(words)}" for path, words in named if not known(words)]
    assert wrong == []


def test_a_command_that_is_none_would_be_found() -> None:
    assert known(["local", "logs", "host", "-n", "5"]) and known(["up", "dev"]) and known(["local", "start"])
    assert not known(["local", "logs", "--which", "host"])
    assert not known(["local", "restart"]) and not known(["deploy"])


# Where a text quotes a command; it ends where its quotes, line or sentence does.
PROSE = ("rate limits",)  # the title of a ruleset
COMMAND = re.compile(r"(?:\A|`|\$\(|\.venv/bin/)sluiceway ([a-z][^`\"'|,;:)\n]*)")


def documents() -> list[Path]:
    """What people read: the Markdown at the top, and all below docs/."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert {"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "gateway.md"} <= {
        path.name for path in found
    }
    return sorted(found)


COMMANDS = typer.main.get_command(app)


def known(words: list[str]) -> bool:
    """Whether the words name a command that takes the options among them."""
    found = COMMANDS
    rest = list(words)
    while rest and (subcommands := getattr(found, "commands", None)):
        name = rest.pop(0)
        if name not in subcommands:
            return False
        found = subcommands[name]
    options = {option for parameter in found.params for option in (*parameter.opts, "--help")}
    return all(word.partition("=")[0] in options for word in rest if word.startswith("-"))


def strings(path: Path) -> Iterator[str]:
    """Its string constants; what an f-string fills in stands as ``{}``."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def calls(path: Path) -> list[ast.Call]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [node for node in nodes if isinstance(node, ast.Call) and name_of(node.func) in TOLD]


def name_of(called: ast.expr) -> str:
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def has_hint(node: ast.Call) -> bool:
    given = [keyword.value for keyword in node.keywords if keyword.arg == "hint"]
    return bool(given) and not (isinstance(given[0], ast.Constant) and not given[0].value)
