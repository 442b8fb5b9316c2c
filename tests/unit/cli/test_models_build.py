"""``sluiceway models build``: a tiny model in real processes. minilm: tests/e2e/test_minilm.py."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from sluiceway.cli.main import app
from sluiceway.errors import SluicewayError, UserError
from tests.unit.pipeline import tiny

ROOT = Path(__file__).resolve().parents[3]
RECIPE: dict[str, Any] = {
    "model": "tiny",
    "task": "embed",
    "source": {"folder": "tiny"},
    "export": {"kind": "given"},
    "passes": [{"kind": "int8-dynamic"}],
    "validate": {"data": "tiny.jsonl", "min_cosine": 0.9, "rounds": 0},
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose recipe ``tiny`` was built once."""
    root = laid_out(tmp_path_factory.mktemp("checkout"), RECIPE)
    assert build(root).exit_code == 0
    return root


def laid_out(root: Path, recipe: dict[str, Any]) -> Path:
    """``root`` as a checkout with the recipe ``tiny``, its source and its rows."""
    (root / "stacks").mkdir()
    (root / "Pulumi.yaml").write_text("name: x\n")
    folder = root / "models" / "recipes"
    tiny.encoder(folder / "tiny")
    tiny.tokenizer(folder / "tiny")
    (folder / "tiny.jsonl").write_text("".join(f'{{"text": "word{at} {"word9 " * at}"}}\n' for at in range(2, 9)))
    write(root, recipe)
    return root


def write(root: Path, recipe: dict[str, Any]) -> None:
    (root / "models" / "recipes" / "tiny.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))


def build(root: Path, *more: str, name: str = "tiny") -> Result:
    env = {"SLUICEWAY_ROOT": str(root), "SLUICEWAY_CACHE_DIR": str(root / "cache")}
    return CliRunner(env=env).invoke(app, ["models", "build", name, *more])


def test_a_build_ends_with_its_table_and_the_command_that_publishes(checkout: Path) -> None:
    done = build(checkout)
    table = [line.split()[0] for line in done.stdout.splitlines()]
    assert table == ["stage", "source", "export", "int8-dynamic", "validate", "package"]
    last = done.stderr.strip().splitlines()[-1]
    folder = Path(last.partition("package: ")[2].partition(";")[0])
    assert (folder / "model.json").is_file() and f"sluiceway models publish {folder}" in last


def test_a_build_as_json_is_one_document(checkout: Path) -> None:
    document = json.loads(build(checkout, "--json").stdout)
    assert document["model"] == "tiny" and document["missed"] == []
    assert [stage["kept"] for stage in document["stages"]] == [True] * 5
    assert all(stage["peak_mb"] > 5 for stage in document["stages"])
    assert Path(document["package"], "model.onnx").is_file()


# A second whole build: that each pass gives the same bytes in another process is shown in tests/unit/pipeline/passes.
@pytest.mark.long
def test_two_builds_elsewhere_give_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    here, there = (json.loads(build(checkout, "--json", *more).stdout) for more in ((), ("--dir", str(tmp_path / "w"))))
    assert [stage["digest"] for stage in here["stages"]] == [stage["digest"] for stage in there["stages"]]
    assert [stage["files"] for stage in here["stages"]] == [stage["files"] for stage in there["stages"]]
    assert not any(stage["kept"] for stage in there["stages"])


def test_a_limit_that_isnt_kept_exits_3_with_the_numbers(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout, tmp_path / "c")
    write(tmp_path / "c", RECIPE | {"validate": RECIPE["validate"] | {"max_size_share": 0.001}})
    done = build(tmp_path / "c")
    assert isinstance(done.exception, SluicewayError) and done.exception.exit_code == 3
    assert "share of the float size" in done.exception.message and "0.001" in done.exception.message
    assert "fail" in done.stdout and "package" not in done.stdout


def test_an_unknown_recipe_is_a_mistake_of_the_person(checkout: Path) -> None:
    done = build(checkout, name="tinny")
    assert isinstance(done.exception, UserError) and done.exception.hint == "did you mean tiny?"


def test_help_of_all_commands_loads_no_library_of_models() -> None:
    code = "import sluiceway.cli.main, sys; print([n for n in ('onnx', 'onnxruntime', 'onnx_ir') if n in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
