"""A source as a folder of plain files, whatever it came from, and what makes it another one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sluiceway.errors import SluicewayError, UserError
from sluiceway.pipeline import source
from sluiceway.pipeline.recipe import FOLDER
from sluiceway.pipeline.source.fetch import tree_digest
from tests.unit.pipeline import tiny
from tests.unit.pipeline.graphs.test_gguf import write as write_gguf
from tests.unit.pipeline.runner.tiny_recipe import checkout, recipe

BUILD = "def build(out):\n    (out / 'model.onnx').write_bytes(b'graph')\n"


def fetched(root: Path, **change: Any) -> list[str]:  # noqa: ANN401 - parts of a document
    """Names of what a source gives."""
    out = root / "out"
    out.mkdir()
    source.fetch(recipe(root, **change), root, root / "cache", out)
    return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())


def tiny_source(root: Path) -> Path:
    checkout(root)
    folder = root / FOLDER / "tiny"
    (folder / "model.onnx").unlink()
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_folder_gives_weights_and_texts_and_leaves_pickles_and_code(tmp_path: Path) -> None:
    folder = tiny_source(tmp_path)
    for name in (
        "pytorch_model.bin",
        "modeling_x.py",
        "tokenizer.json",
        ".hidden/config.json",
        "1_Pooling/config.json",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    assert fetched(tmp_path) == ["1_Pooling/config.json", "model.safetensors", "tokenizer.json"]


def test_ox_02_external_data_of_any_name_comes_along(tmp_path: Path) -> None:
    checkout(tmp_path)
    tiny.encoder(tmp_path / FOLDER / "tiny", data="weights_7f.bin")
    (tmp_path / FOLDER / "tiny" / "other.bin").write_bytes(b"x")
    assert fetched(tmp_path) == ["model.onnx", "weights_7f.bin"]


def test_a_link_in_a_folder_is_refused(tmp_path: Path) -> None:
    folder = tiny_source(tmp_path)
    (tmp_path / "secret.json").write_text("{}")
    (folder / "config.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(UserError, match="no links"):
        recipe_settings(tmp_path)


def recipe_settings(root: Path) -> dict[str, Any]:
    return source.settings(recipe(root), root)


def test_a_pickle_under_a_harmless_name_is_refused(tmp_path: Path) -> None:
    folder = tiny_source(tmp_path)
    (folder / "vocab.txt").write_bytes(b"\x80\x04\x95\x00\x00.")
    with pytest.raises(UserError, match="pickle"):
        fetched(tmp_path)


def test_code_that_a_config_wants_run_is_refused_in_a_folder_too(tmp_path: Path) -> None:
    folder = tiny_source(tmp_path)
    (folder / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "modeling_x.X"}}))
    with pytest.raises(UserError, match="code that isn't allowed"):
        fetched(tmp_path)


def train(root: Path, code: str, name: str) -> dict[str, Any]:
    checkout(root)
    folder = root / FOLDER / name
    folder.mkdir()
    (root / "models" / "__init__.py").write_text("")
    (folder / "train.py").write_text(code)
    return {"source": {"train": f"models.recipes.{name}.train"}}


def test_a_change_of_any_recipes_code_trains_anew(tmp_path: Path) -> None:
    asked = train(tmp_path, BUILD, "one")
    before = source.settings(recipe(tmp_path, **asked), tmp_path)
    assert before == source.settings(recipe(tmp_path, **asked), tmp_path)
    (tmp_path / FOLDER / "shared.py").write_text("x = 1\n")
    assert before != source.settings(recipe(tmp_path, **asked), tmp_path)


def test_a_module_that_isnt_there_is_told(tmp_path: Path) -> None:
    checkout(tmp_path)
    with pytest.raises(UserError, match="no such module") as caught:
        source.settings(recipe(tmp_path, source={"train": "models.recipes.none.train"}), tmp_path)
    assert caught.value.path == f"{FOLDER}/tiny.yaml: source.train"


@pytest.mark.parametrize(
    ("code", "told"),
    [("x = 1\n", "no function build"), ("def build(out):\n    pass\n", "wrote no model.onnx")],
)
def test_a_training_that_gives_nothing_is_told(
    tmp_path: Path, code: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Module:
        pass

    exec(code, (module := Module()).__dict__)
    monkeypatch.setattr("importlib.import_module", lambda _name: module)
    with pytest.raises(SluicewayError, match=told):
        fetched(tmp_path, **train(tmp_path, code, "two"))


def test_a_digest_of_a_folder_is_of_names_and_bytes_alone(tmp_path: Path) -> None:
    for folder, order in (("a", ("x", "y")), ("b", ("y", "x"))):
        (tmp_path / folder).mkdir()
        for name in order:
            (tmp_path / folder / name).write_text(name)
    os.utime(tmp_path / "a" / "x", (1, 1))
    assert tree_digest(tmp_path / "a") == tree_digest(tmp_path / "b")
    (tmp_path / "b" / "x").rename(tmp_path / "b" / "z")
    assert tree_digest(tmp_path / "a") != tree_digest(tmp_path / "b")


def test_a_gguf_file_becomes_the_checkpoint_that_it_was_made_of(tmp_path: Path) -> None:
    folder = tiny_source(tmp_path)
    (folder / "model.safetensors").unlink()
    write_gguf(folder / "tiny.Q4_1.gguf", 3)
    names = fetched(tmp_path)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(names)
    assert not any(name.endswith(".gguf") for name in names)


def test_several_gguf_files_are_not_chosen_from(tmp_path: Path) -> None:
    folder = tiny_source(tmp_path)
    for name in ("a.gguf", "b.gguf"):
        write_gguf(folder / name, 3)
    with pytest.raises(UserError, match="several GGUF files") as caught:
        fetched(tmp_path)
    assert "a.gguf, b.gguf" in str(caught.value) and caught.value.hint
