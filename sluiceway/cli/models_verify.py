"""``sluiceway models verify``: whether a package is whole, unchanged and fit for a runtime."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from sluiceway.cli.output import JsonFlag, print_json, print_text
from sluiceway.errors import UserError

Folder = Annotated[Path, typer.Argument(help="The folder that holds model.json.", metavar="FOLDER")]
Runtimes = Annotated[
    list[str] | None,
    typer.Option("--runtime", help="A runtime that is to load it, onnxruntime=1.30.0; else the one installed here."),
]


def register(app: typer.Typer) -> None:
    app.command("verify")(verify_)


def verify_(folder: Folder, runtime: Runtimes = None, as_json: JsonFlag = False) -> None:
    """Check every file of the package in FOLDER by its sha256, and that nothing else lies there."""
    from sluiceway.pipeline.package import installed, verify

    stated = _versions(runtime or [])
    manifest = verify(folder, stated or installed())
    for name in stated:
        if name not in manifest.runtime:
            known = ", ".join(f"{each}={oldest}" for each, oldest in sorted(manifest.runtime.items()))
            hint = f"those that it names, each with the oldest version: {known or 'none'}"
            raise UserError("the package names no such runtime", path="--runtime", got=name, hint=hint)
    if as_json:
        print_json({"folder": str(folder), "model": manifest.model, "files": len(manifest.files) + 1, "sound": True})
        return
    size = sum(file.bytes for file in manifest.files)
    print_text(f"sound: {manifest.model}, {manifest.precision}, {len(manifest.files) + 1} files, {size} bytes")


def _versions(stated: list[str]) -> dict[str, str]:
    found = {}
    for text in stated:
        name, _, version = text.partition("=")
        if not re.fullmatch(r"\d+(\.\d+)*", version):
            raise UserError("a runtime is a name and a version", path="--runtime", got=text, hint="onnxruntime=1.32.0")
        found[name.replace("-", "_")] = version
    return found
