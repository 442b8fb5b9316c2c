"""The rules of the house that a machine can see. Import directions are import-linter's (`make check`)."""

import ast
import re
import subprocess
import sys
from collections.abc import Set
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
CODE = (".py", ".ts", ".mts", ".mjs", ".j2", ".sh")
LONGEST_FILE = 400
LONGEST_FUNCTION = 40


def tracked() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def code() -> list[Path]:
    return [path for path in tracked() if path.suffix in CODE]


def test_files_stay_readable() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in code()}
    assert {str(path): lines for path, lines in lengths.items() if lines > LONGEST_FILE} == {}
    assert median(lengths.values()) <= 130


def test_functions_stay_short() -> None:
    long = []
    for path in code():
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines")
    assert long == []


def test_the_domain_imports_only_the_standard_library() -> None:
    foreign = set()
    for path in (ROOT / "sluiceway" / "domain").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            foreign |= {name for name in names if not _is_ours_or_standard(name)}
    assert foreign == set()


def test_no_module_is_imported_by_what_it_imports() -> None:
    sources = {module_name(path): path for path in code() if path.suffix == ".py"}
    imports = {name: imported(path, sources.keys()) for name, path in sources.items()}
    assert circles(imports) == set()


def test_a_circle_of_imports_would_be_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == {"a", "b", "c"}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path, modules: Set[str]) -> set[str]:
    """What a file imports of ``modules``, by an import anywhere in it: one for types alone is an import too."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [
        (node.module or "", alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return (plain | {full if (full := f"{module}.{name}") in modules else module for module, name in froms}) & modules


def circles(imports: dict[str, set[str]]) -> set[str]:
    """Whoever can reach itself: what is left when no module without importers or without imports is."""
    left = dict(imports)
    while True:
        used = set().union(*left.values())
        kept = {name: targets & left.keys() for name, targets in left.items() if name in used and targets & left.keys()}
        if kept == left:
            return set(left)
        left = kept


def _is_ours_or_standard(name: str) -> bool:
    return name.split(".")[0] in sys.stdlib_module_names or name.startswith("sluiceway.domain")


# Written in pieces so that this file does not hold what it looks for.
_HOSTS = ("npm" + "js.org", "pypi" + ".org", "python" + "hosted.org", "proxy" + ".golang.org", "sum" + ".golang.org")
_MACHINE = re.compile("/" + "work/(main|scratch|shared)|/" + "root/")


def test_no_registry_host_and_no_path_of_a_machine_is_in_the_project() -> None:
    told = {str(path.relative_to(ROOT)): found for path in tracked() if (found := _foreign(path))}
    assert told == {}


def test_a_foreign_host_or_path_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "some.json"
    file.write_text(f'"https://registry.{_HOSTS[0]}/x", "/{"root"}/y"', encoding="utf-8")
    assert _foreign(file) == [_HOSTS[0], f"/{'root'}/"]


def _foreign(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return []
    return [host for host in _HOSTS if host in text] + [found[0] for found in _MACHINE.finditer(text)]
