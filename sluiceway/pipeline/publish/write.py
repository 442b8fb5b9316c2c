"""Adds a published version to models/MODEL.yaml: its files under models/artifacts/, its block after the last one.

The text that is there stays as it is, comments too; only lines are added.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import yaml

from sluiceway.domain.model import ModelRef, Task
from sluiceway.errors import UserError
from sluiceway.pipeline.publish.pull import holds
from sluiceway.pipeline.publish.shelf import FileLike, same
from sluiceway.pipeline.publish.stated import FOLDER, parse

_HINT: Final = "write the block in by hand: `sluiceway models publish` prints it"


def block(ref: ModelRef, files: Sequence[FileLike], indent: int = 2) -> str:
    """The version as it stands in models/MODEL.yaml, in whole lines."""
    lines = [f"- version: {ref}", "  backend: onnx", "  files:"]
    for file in files:
        lines += [
            f"    - name: {file.name}",
            f"      path: artifacts/{ref.model}/{ref.number}/{file.name}",
            f"      sha256: {file.sha256}",
            f"      bytes: {file.bytes}",
        ]
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def added(text: str | None, ref: ModelRef, task: Task, files: Sequence[FileLike]) -> str:
    """The text of models/MODEL.yaml with the version at its end; the same text when the version is in it.

    UserError when the file's versions don't let it be added last: another task, a later version, other files.
    """
    if text is None:
        return f"task: {task}\nversions:\n{block(ref, files)}"
    shown = f"{FOLDER}/{ref.model}.yaml"
    before = parse(text, ref.model)
    for version in before:
        if version.ref == ref:
            if same(version.files, files):
                return text
            raise UserError(f"{ref} has other files there", path=shown, hint="publish it as the next version")
        if version.ref > ref:
            raise UserError(f"{version.ref} stands there already", path=shown, got=str(ref), hint=_HINT)
        if version.task != task:
            raise UserError(f"the model's task is {version.task}", path=shown, got=task, hint="name another model")
    return appended(text, ref, lambda indent: block(ref, files, indent))


def appended(text: str, ref: ModelRef, made: Callable[[int], str]) -> str:
    """The text of models/MODEL.yaml with the block that ``made`` gives for an indent behind its last version.

    UserError when that would change what is there, or a later version stands there."""
    shown = f"{FOLDER}/{ref.model}.yaml"
    before = parse(text, ref.model)
    if before and before[-1].ref >= ref:
        raise UserError(f"{before[-1].ref} stands there already", path=shown, got=str(ref), hint=_HINT)
    line, indent = _end(text, shown)
    lines = text.splitlines(keepends=True)
    if lines and not lines[line - 1].endswith("\n"):
        lines[line - 1] += "\n"
    written = "".join([*lines[:line], made(indent), *lines[line:]])
    if parse(written, ref.model)[:-1] != before:
        raise UserError("a block added to this file would change what is there", path=shown, hint=_HINT)
    return written


def home_of(root: Path, ref: ModelRef, files: Sequence[FileLike]) -> Path:
    """Where the files of a version lie in the checkout. UserError when others lie there."""
    home = root / FOLDER / "artifacts" / ref.model / str(ref.number)
    if home.exists() and not holds(home, files):
        hint = "see what lies there: it is not this package"
        raise UserError("other files lie there already", path=str(home), hint=hint)
    return home


def copy_files(root: Path, ref: ModelRef, folder: Path, files: Sequence[FileLike]) -> Path:
    """Puts the files of the package in ``folder`` where models/MODEL.yaml says they lie, unless they are there."""
    home = home_of(root, ref, files)
    if home.exists():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    gathered = home.parent / f".{home.name}.{os.getpid()}"
    try:
        gathered.mkdir()
        for file in files:
            (gathered / file.name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file.name, gathered / file.name)
        gathered.rename(home)
    finally:
        shutil.rmtree(gathered, ignore_errors=True)
    return home


def save(root: Path, model: str, text: str) -> None:
    """Puts the text in place of models/MODEL.yaml in one step."""
    path = root / FOLDER / f"{model}.yaml"
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.write_text(text, encoding="utf-8")
    made.replace(path)


def _end(text: str, shown: str) -> tuple[int, int]:
    """(line after the last one of the versions, column of their dashes)."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    entries = node.value if isinstance(node, yaml.MappingNode) else []
    versions = next((value for key, value in entries if key.value == "versions"), None)
    if not isinstance(versions, yaml.SequenceNode) or versions.flow_style or not versions.value:
        raise UserError("versions is no list of blocks", path=shown, hint=_HINT)
    return _last(versions) + 1, versions.start_mark.column


def _last(node: yaml.Node) -> int:
    """The number of a node's last line, from 0: a block's own end mark stands after the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last(last[1] if isinstance(last, tuple) else last)
    mark = node.end_mark
    return mark.line if mark.column else mark.line - 1
