"""A version's block goes to the end of models/MODEL.yaml, and nothing else in it changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sluiceway.catalog import load
from sluiceway.domain.model import ModelRef
from sluiceway.errors import UserError
from sluiceway.pipeline.package import package, verify
from sluiceway.pipeline.publish.send import described
from sluiceway.pipeline.publish.shelf import RecordFile
from sluiceway.pipeline.publish.stated import parse, read_all
from sluiceway.pipeline.publish.write import added, block, copy_files, save
from sluiceway.workspace import Workspace
from tests.unit.pipeline.package.test_package import CLASSIFY, external

REF = ModelRef("tiny", 2)
FILES = (RecordFile(name="model.onnx", sha256="a" * 64, bytes=5),)
FIRST = "  - version: tiny@1\n    backend: workers-ai\n    id: '@cf/baai/bge-m3' # the first\n"
TAILS = {
    "plain": "",
    "a comment at the end": "# good bye\n",
    "a key after it": "fallback: []\n",
    "no newline": None,
}


@pytest.mark.parametrize("tail", list(TAILS))
@pytest.mark.parametrize("indent", ["", "  "])
def test_only_lines_are_added(tail: str, indent: str) -> None:
    entry = FIRST if indent else "\n".join(line[2:] for line in FIRST.splitlines()) + "\n"
    end = TAILS[tail]
    text = f"# Texts as vectors.\ntask: embed # why\nversions: # only ever added\n{entry}{end or ''}"
    if end is None:
        text = text.removesuffix("\n")
    written = added(text, REF, "embed", FILES)
    before, after = written.split(block(REF, FILES, len(indent)))
    assert (before + after).strip() == text.strip()
    assert [str(version.ref) for version in parse(written, "tiny")] == ["tiny@1", "tiny@2"]
    assert added(written, REF, "embed", FILES) == written


@pytest.mark.parametrize(
    "prompt", ["prompt: |\n      two\n      lines\n", "parameters:\n      top_k: 5\n", "parameters: { top_k: 5 }\n"]
)
def test_whatever_ends_the_last_version_stays_its_own(prompt: str) -> None:
    text = f"task: chat\nversions:\n  - version: tiny@1\n    backend: workers-ai\n    id: x\n    {prompt}"
    assert added(text, REF, "chat", FILES) == text + block(REF, FILES)


def test_a_model_without_a_file_gets_one() -> None:
    assert added(None, ModelRef("tiny", 1), "embed", FILES).startswith("task: embed\nversions:\n  - version: tiny@1\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"task: embed\nversions:\n{FIRST.replace('@1', '@3', 1)}", "tiny@3 stands there already, got 'tiny@2'"),
        (f"task: chat\nversions:\n{FIRST}", "the model's task is chat"),
        (f"task: embed\nversions:\n{block(REF, FILES).replace('a' * 64, 'b' * 64)}", "tiny@2 has other files there"),
        ("task: embed\nversions: [{version: tiny@1, backend: workers-ai, id: x}]\n", "versions is no list of blocks"),
        ("task: embed\nversions: []\n", "versions is no list of blocks"),
    ],
)
def test_a_file_that_can_not_take_it_is_left(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        added(text, REF, "embed", FILES)


def test_what_is_written_is_what_a_stage_reads(tmp_path: Path, built: Path) -> None:
    (tmp_path / "models").mkdir()
    ref = ModelRef("tiny", 1)
    files = described(built, verify(built))
    home = copy_files(tmp_path, ref, built, files)
    assert copy_files(tmp_path, ref, built, files) == home
    save(tmp_path, "tiny", added(None, ref, "embed", files))
    found = load(Workspace(tmp_path)).models[0].versions[0]
    assert {file.name for file in found.files} == {path.name for path in built.iterdir()}
    assert [str(version.ref) for version in read_all(tmp_path)] == ["tiny@1"]
    assert sorted(path.name for path in (tmp_path / "models").rglob(".*")) == []
    (home / "model.onnx").write_bytes(b"x")
    with pytest.raises(UserError, match="other files lie there already"):
        copy_files(tmp_path, ref, built, files)
    shutil.rmtree(home)


def test_weights_in_folders_keep_their_layout_in_models(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    done = package(external(tmp_path / "in", ["w/a.bin", "b.bin"]), CLASSIFY, tmp_path / "shelf" / "package")
    ref = ModelRef("tiny", 1)
    files = described(done.folder, done.manifest)
    home = copy_files(tmp_path, ref, done.folder, files)
    assert copy_files(tmp_path, ref, done.folder, files) == home
    assert verify(home) == done.manifest
    save(tmp_path, "tiny", added(None, ref, "classify", files))
    (version,) = load(Workspace(tmp_path)).models[0].versions
    assert "w/a.bin" in {file.name for file in version.files}
    (home / "w" / "more.bin").touch()
    with pytest.raises(UserError, match="other files lie there already"):
        copy_files(tmp_path, ref, done.folder, files)
