"""Recipes: what they may state, and the first fault with its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sluiceway.errors import UserError
from sluiceway.pipeline.passes.settings import Int8Dynamic
from sluiceway.pipeline.recipe import FOLDER, load, names
from sluiceway.pipeline.recipe.load import Folder, Train
from sluiceway.pipeline.recipe.model import Wheel

ROOT = Path(__file__).resolve().parents[4]
WHEEL = {"name": "some-model", "version": "0.1.0", "sha256": "a" * 64, "folder": "some/model"}


def recipe() -> dict[str, Any]:
    return {
        "model": "tiny",
        "task": "embed",
        "source": {"folder": "tiny"},
        "export": {"kind": "given"},
        "passes": [{"kind": "fold"}, {"kind": "int8-dynamic"}],
        "validate": {"data": "tiny.jsonl", "min_cosine": 0.98},
    }


def write(root: Path, document: dict[str, Any], name: str = "tiny") -> None:
    folder = root / FOLDER
    (folder / "tiny").mkdir(parents=True, exist_ok=True)
    (folder / "tiny.jsonl").write_text('{"text": "hello"}\n')
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))


def refused(root: Path, document: dict[str, Any]) -> UserError:
    write(root, document)
    with pytest.raises(UserError) as caught:
        load(root, "tiny")
    return caught.value


def test_the_recipes_of_this_checkout_are_sound() -> None:
    assert "minilm" in names(ROOT)
    for name in names(ROOT):
        assert load(ROOT, name).name == name


@pytest.mark.parametrize(
    ("kind", "task", "made", "kinds"),
    [
        ("encoder", "chat", "embed", "causal-lm or given"),
        ("classifier", "embed", "classify", "encoder or given"),
        ("causal-lm", "classify", "chat", "classifier or given"),
    ],
)
def test_an_export_of_another_task_is_told_before_anything_is_fetched(
    tmp_path: Path, kind: str, task: str, made: str, kinds: str
) -> None:
    error = refused(tmp_path, {**recipe(), "task": task, "export": {"kind": kind}})
    assert error.path == f"{FOLDER}/tiny.yaml: export.kind"
    assert error.message == f"{kind} makes a model of task {made}, and task is {task}"
    assert error.hint == f"write task: {made}, or kind: {kinds}"
    write(tmp_path, {**recipe(), "task": made, "export": {"kind": kind}})
    assert load(tmp_path, "tiny").task == made


def test_a_path_without_a_recipe_names_those_that_there_are(tmp_path: Path) -> None:
    write(tmp_path, recipe())
    with pytest.raises(UserError) as caught:
        load(tmp_path, str(tmp_path / "tniy.yaml"))
    assert caught.value.path == str(tmp_path / "tniy.yaml")
    assert caught.value.hint == f"write it, or name a recipe of {FOLDER}: tiny"


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    write(tmp_path, recipe())
    found = load(tmp_path, "tiny")
    assert found.source == Folder(tmp_path / FOLDER / "tiny")
    assert (found.export.tool, found.export.opset, found.export.ir) == ("auto", None, None)
    assert found.passes[1] == Int8Dynamic(kind="int8-dynamic", per_channel=True, ops=("MatMul", "Gather"))
    assert found.validate.batches == ((1, 1), (1, 7), (2, 5), (3, 16))
    assert found.data.read_text() == '{"text": "hello"}\n'


def test_a_recipe_may_lie_anywhere_and_a_document_stands_for_the_file(tmp_path: Path) -> None:
    write(tmp_path, recipe())
    path = str(tmp_path / FOLDER / "tiny.yaml")
    assert load(ROOT, path).folder == tmp_path / FOLDER
    again = load(ROOT, path, {**recipe(), "task": "classify"})
    assert again.task == "classify"
    assert load(ROOT, path, dict(again.document)) == again


def test_each_source_is_read_as_what_it_is(tmp_path: Path) -> None:
    write(tmp_path, recipe() | {"source": {"wheel": WHEEL}})
    assert isinstance(load(tmp_path, "tiny").source, Wheel)
    write(tmp_path, recipe() | {"source": {"train": "models.recipes.tiny.train"}})
    assert load(tmp_path, "tiny").source == Train("models.recipes.tiny.train")


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"pases": []}, "", "unknown key 'pases'"),
        ({"source": {}}, "source", "exactly one source"),
        ({"source": {"folder": "tiny", "train": "models.recipes.x"}}, "source", "exactly one source"),
        ({"source": {"folder": "../tiny"}}, "source.folder", "relative to models/recipes/"),
        ({"source": {"folder": "absent"}}, "source.folder", "doesn't exist"),
        ({"source": {"train": "os.path"}}, "source.train", "below models/recipes/"),
        ({"source": {"wheel": WHEEL | {"sha256": "A" * 64}}}, "source.wheel.sha256", "64 lower-case hex"),
        ({"source": {"wheel": WHEEL | {"folder": "a/../b"}}}, "source.wheel.folder", "no . or .."),
        ({"source": {"wheel": WHEEL | {"version": ">=1"}}}, "source.wheel.version", "a version is numbers"),
        (
            {"source": {"huggingface": {"id": "a/b", "revision": "main"}}},
            "source.huggingface.revision",
            "pinned by its commit",
        ),
        (
            {"source": {"huggingface": {"id": "a/b", "revision": "c" * 40, "allow_code": True}}},
            "source.huggingface.allow_code",
            "allowed by name",
        ),
        ({"export": {"kind": "torch"}}, "export.kind", "must be one of"),
        ({"passes": [{"kind": "fold"}, {"knd": "fold"}]}, "passes[1].kind", "is required"),
        ({"passes": [{"kind": "int9"}]}, "passes[0].kind", "no pass of this kind"),
        ({"passes": [{"kind": "int8-dynamic", "per_chanel": True}]}, "passes[0]", "unknown key 'per_chanel'"),
        ({"passes": [{"kind": "int4-weights", "head": "int2"}]}, "passes[0].head", "must be one of"),
        ({"passes": [{"kind": "int8-static", "calibration": "no.jsonl"}]}, "passes[0].calibration", "doesn't exist"),
        ({"variants": {"small": [{"kind": "int9"}]}}, "variants.small[0].kind", "no pass of this kind"),
        ({"validate": {"data": "no.jsonl", "min_cosine": 0.9}}, "validate.data", "doesn't exist"),
        ({"validate": {"data": "tiny.jsonl", "min_cosine": 2}}, "validate.min_cosine", "at most 1"),
        ({"validate": {"min_cosine": 0.9}}, "validate.data", "is required"),
    ],
)  # fmt: skip
def test_the_first_fault_is_told_with_its_path(tmp_path: Path, change: dict[str, Any], path: str, said: str) -> None:
    fault = refused(tmp_path, recipe() | change)
    assert fault.path == (f"{FOLDER}/tiny.yaml: {path}" if path else f"{FOLDER}/tiny.yaml")
    assert said in fault.message and fault.hint


def test_ox_09_a_recipe_whose_validation_cant_fail_is_refused(tmp_path: Path) -> None:
    fault = refused(tmp_path, recipe() | {"validate": {"data": "tiny.jsonl", "max_size_mb": 3}})
    assert fault.path == f"{FOLDER}/tiny.yaml: validate" and "limit of quality" in fault.message


@pytest.mark.parametrize("batches", [[[2, 4], [2, 8]], [[1, 4], [2, 4]], [[1, 4]], [[1, 2, 3], [4, 5, 6]]])
def test_ox_01_batches_that_dont_show_a_frozen_axis_are_refused(tmp_path: Path, batches: list[list[int]]) -> None:
    fault = refused(tmp_path, recipe() | {"validate": {"data": "tiny.jsonl", "min_cosine": 0.9, "batches": batches}})
    assert fault.path is not None and "validate.batches" in fault.path


def test_an_unknown_recipe_is_told_with_what_is_there(tmp_path: Path) -> None:
    write(tmp_path, recipe())
    with pytest.raises(UserError, match="no such recipe") as caught:
        load(tmp_path, "tinny")
    assert caught.value.hint == "did you mean tiny?"
