"""Whether a package is whole and as it was made: each fault is one clear error, and the first one is told."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from sluiceway.errors import UserError
from sluiceway.pipeline.checks import Limits, check_model
from sluiceway.pipeline.package import tokenizer
from sluiceway.pipeline.package.manifest import NAME, SIGNATURE, File, Manifest, read
from sluiceway.pipeline.types import Model

_AGAIN: Final = "pull it again, or build it again from its recipe"
_EXTRA: Final = "take it out; the files of a package are listed when it is made"


def installed() -> dict[str, str]:
    """Versions of the runtimes on this machine, as ``verify`` takes them."""
    return {"onnxruntime": metadata.version("onnxruntime")}


def verify(
    folder: Path, runtime: Mapping[str, str] | None = None, tell: Callable[[int], None] = lambda size: None
) -> Manifest:
    """The manifest of the package in ``folder``, when all of it is there, unchanged, and nothing else but a signature.

    ``runtime``: versions by name that are to load it; those that aren't named aren't looked at. ``tell`` gets the
    bytes that were read. Reads every byte and runs nothing. UserError for the first fault.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise UserError("no folder of a package", path=str(folder), hint="name the folder that holds model.json")
    if (folder / SIGNATURE).is_dir():
        hint = "take it out, and pull or sign the package again"
        raise UserError("is a folder, and a signature is a file", path=str(folder / SIGNATURE), hint=hint)
    names = sorted(_names(folder))
    manifest = read(folder / NAME)
    listed = {file.name: file for file in manifest.files}
    for name in names:
        if name not in listed and name not in (NAME, SIGNATURE):
            raise UserError("a file that model.json doesn't list", path=str(folder / name), hint=_EXTRA)
    for name in listed:
        if name not in names:
            raise UserError("a file that model.json lists is missing", path=str(folder / name), hint=_AGAIN)
    _check_runtime(manifest, runtime or {}, folder)
    for file in manifest.files:
        _check_bytes(folder, file, tell)
    facts = check_model(Model(folder / "model.onnx"), Limits(runtimes=manifest.runtime))
    if (facts.ir, dict(facts.opsets)) != (manifest.graph.ir, manifest.graph.opsets):
        raise UserError("model.json says other versions than the graph has", path=str(folder / NAME), hint=_AGAIN)
    tokenizer.require_same("tokenizer", manifest.tokenizer, tokenizer.probe(folder), folder)
    tokenizer.require_same("chat template", manifest.chat, tokenizer.probe_chat(folder), folder)
    return manifest


def sha256_of(path: Path, tell: Callable[[int], None] = lambda size: None) -> str:
    running = hashlib.sha256()
    with path.open("rb") as stream:
        while data := stream.read(1 << 20):
            running.update(data)
            tell(len(data))
    return running.hexdigest()


def _names(folder: Path) -> Iterator[str]:
    """Files of the package, relative. UserError for a link of either kind, and for what is no file."""
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root) / name
            if path.is_symlink():
                raise UserError("is a link, and a package holds files alone", path=str(path), hint=_AGAIN)
            if path.is_dir():
                continue
            if not path.is_file():
                raise UserError("is neither a file nor a folder", path=str(path), hint=_AGAIN)
            if path.stat().st_nlink > 1:
                hint = "copy it: whoever has the other name can change the package"
                raise UserError("has a second name on this disk (a hard link)", path=str(path), hint=hint)
            yield path.relative_to(folder).as_posix()


def _check_bytes(folder: Path, file: File, tell: Callable[[int], None]) -> None:
    path = folder / file.name
    size = path.stat().st_size
    if size != file.bytes:
        raise UserError(f"has another length than the {file.bytes} bytes listed", path=str(path), got=size, hint=_AGAIN)
    found = sha256_of(path, tell)
    if found != file.sha256:
        raise UserError(f"isn't the file of sha256 {file.sha256}", path=str(path), got=found, hint=_AGAIN)


def _check_runtime(manifest: Manifest, runtime: Mapping[str, str], folder: Path) -> None:
    for name, version in runtime.items():
        needed = manifest.runtime.get(name)
        if needed is not None and _number(version) < _number(needed):
            raise UserError(
                f"{name} {version} is older than {needed}, which this package needs",
                path=str(folder / NAME),
                got=version,
                hint=f"take {name} {needed} or newer, or build the package for {version} by runtime: in its recipe",
            )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
