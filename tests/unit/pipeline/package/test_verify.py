"""Each way in which a package can be another one than was made is one clear error."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.package import installed, package, verify
from tests.unit.pipeline.package.samples import META
from tests.unit.pipeline.package.test_package import made


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    return package(made(folder, "chat_template.jinja"), META, folder / "out").folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "package")


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "model.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_a_sound_package_passes_and_every_byte_is_read(folder: Path) -> None:
    told: list[int] = []
    manifest = verify(folder, installed(), told.append)
    assert sum(told) == sum(file.bytes for file in manifest.files)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "chat_template.jinja", "sbom.cdx.json"])
def test_a_flipped_byte_is_found_in_any_file(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(UserError, match=rf"{name}: isn't the file of sha256"):
        verify(folder)


def test_a_shorter_file_is_told_by_its_length(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"config\.json: has another length than the 22 bytes listed, got 2"):
        verify(folder)


def test_a_missing_and_an_extra_file_are_named(folder: Path) -> None:
    (folder / "config.json").rename(folder / "config.old")
    with pytest.raises(UserError, match=r"config\.old: a file that model.json doesn't list"):
        verify(folder)
    (folder / "config.old").unlink()
    with pytest.raises(UserError, match=r"config\.json: a file that model.json lists is missing"):
        verify(folder)
    (folder / "model.json").unlink()
    with pytest.raises(UserError, match=r"no model\.json: this is no package"):
        verify(folder)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "a\\b", "C:x", "", "a//b", "./a", "~/a"])
def test_a_path_that_leaves_the_folder_is_refused(folder: Path, name: str) -> None:
    edit(folder, lambda document: document["files"][0].update(name=name))
    with pytest.raises(UserError, match=r"files\[0\].name: a file's path leaves the package's folder"):
        verify(folder)


def test_links_of_both_kinds_are_refused(folder: Path, tmp_path: Path) -> None:
    inside = folder / "config.json"
    outside = inside.rename(tmp_path / "outside")
    inside.symlink_to(outside)
    with pytest.raises(UserError, match=r"config\.json: is a link"):
        verify(folder)
    inside.unlink()
    os.link(outside, inside)
    with pytest.raises(UserError, match="a hard link"):
        verify(folder)
    inside.unlink()
    outside.rename(inside)
    (folder / "sub").symlink_to(tmp_path)
    with pytest.raises(UserError, match="sub: is a link"):
        verify(folder)
    (folder / "sub").unlink()
    (tmp_path / "alias").symlink_to(folder)
    with pytest.raises(UserError, match="no folder of a package"):
        verify(tmp_path / "alias")


@pytest.mark.parametrize(("version", "old"), [("1.29.9", True), ("1.4.0", True), ("1.30.0", False), ("2.0", False)])
def test_ox_07_a_runtime_that_is_too_old_is_named(folder: Path, version: str, old: bool) -> None:
    if not old:
        verify(folder, {"onnxruntime": version})
        return
    with pytest.raises(UserError, match=f"onnxruntime {version} is older than 1.30.0, which this package needs"):
        verify(folder, {"onnxruntime": version})


def test_ox_07_versions_that_are_not_the_graphs_are_found(folder: Path) -> None:
    edit(folder, lambda document: document["graph"].update(ir=7))
    with pytest.raises(UserError, match=r"model\.json says other versions than the graph has"):
        verify(folder)


def test_ox_08_ids_that_the_tokenizer_does_not_give_are_found(folder: Path) -> None:
    edit(folder, lambda document: document["tokenizer"].update(ids=[1, 2, 3]))
    with pytest.raises(UserError, match="the package's tokenizer does not do"):
        verify(folder)


def _twice(document: dict[str, Any]) -> None:
    document["files"].append(document["files"][0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: document.update(format=2), r"format: this Sluiceway reads format 1, got 2"),
        (lambda document: document.update(surprise=1), r"unknown key 'surprise'"),
        (lambda document: document.pop("licence"), r"licence: is required"),
        (lambda document: document["files"][0].update(bytes="9"), r"files\[0\].bytes: must be a whole number"),
        (lambda document: document["files"][0].update(sha256="x"), r"a sha256 is 64 lower-case hex digits"),
        (lambda document: document.update(files=[]), r"lists no model.onnx"),
        (_twice, r"a file stands twice"),
    ],
)
def test_a_manifest_of_another_shape_is_one_error_with_its_path(
    folder: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    edit(folder, change)
    with pytest.raises(UserError, match=said):
        verify(folder)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ufeff{}", "null", "1"])
def test_what_is_no_manifest_at_all_is_one_error(folder: Path, text: str) -> None:
    (folder / "model.json").write_text(text)
    with pytest.raises(UserError, match=r"model\.json"):
        verify(folder)
