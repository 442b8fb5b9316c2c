"""Every error that is the person's to mend says what to do about it."""

from __future__ import annotations

import ast
from pathlib import Path

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


def calls(path: Path) -> list[ast.Call]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [node for node in nodes if isinstance(node, ast.Call) and name_of(node.func) in TOLD]


def name_of(called: ast.expr) -> str:
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def has_hint(node: ast.Call) -> bool:
    given = [keyword.value for keyword in node.keywords if keyword.arg == "hint"]
    return bool(given) and not (isinstance(given[0], ast.Constant) and not given[0].value)
