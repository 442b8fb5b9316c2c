"""``sluiceway models verify``: whether a package is whole, unchanged, fit for a runtime, and signed by whom it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sluiceway.cli.output import JsonFlag, print_json, print_text
from sluiceway.errors import UserError
from sluiceway.progress import Progress

if TYPE_CHECKING:
    from sluiceway.pipeline.package import Manifest

Folder = Annotated[Path, typer.Argument(help="The folder that holds model.json.", metavar="FOLDER")]
Runtimes = Annotated[
    list[str] | None,
    typer.Option("--runtime", help="A runtime that is to load it, onnxruntime=1.30.0; else the one installed here."),
]
Public = Annotated[
    Path | None,
    typer.Option("--key", help="The public key, in PEM, of who must have signed the package.", metavar="PUBLIC"),
]


def register(app: typer.Typer) -> None:
    app.command("verify")(verify_)


def verify_(folder: Folder, runtime: Runtimes = None, key: Public = None, as_json: JsonFlag = False) -> None:
    """Check every file of the package in FOLDER by its sha256, and that nothing else lies there.

    With --key also that its signature is of all of it, and by that key.
    """
    from sluiceway.pipeline.package import installed, verify

    stated = _versions(runtime or [])
    manifest = verify(folder, stated or installed())
    for name in stated:
        if name not in manifest.runtime:
            known = ", ".join(f"{each}={oldest}" for each, oldest in sorted(manifest.runtime.items()))
            hint = f"those that it names, each with the oldest version: {known or 'none'}"
            raise UserError("the package names no such runtime", path="--runtime", got=name, hint=hint)
    signature = _signature(folder, manifest, key)
    files = len(manifest.files) + 1
    if as_json:
        found = {"folder": str(folder), "model": manifest.model, "files": files, "sound": True, "signature": signature}
        print_json(found)
        return
    size = sum(file.bytes for file in manifest.files)
    said = {
        "none": "",
        "unchecked": "; signed, by whom was not looked at: --key PUBLIC does",
        "good": f"; signed by {key}",
    }
    print_text(f"sound: {manifest.model}, {manifest.precision}, {files} files, {size} bytes{said[signature]}")


def _signature(folder: Path, manifest: Manifest, key: Path | None) -> Literal["none", "unchecked", "good"]:
    """UserError for a signature of something else, and with ``key`` for one that isn't by it or isn't there."""
    from sluiceway.pipeline.package.manifest import SIGNATURE
    from sluiceway.pipeline.signing import bundle, call
    from sluiceway.pipeline.signing.environment import SIGNING

    if key is None:
        if not (folder / SIGNATURE).exists():
            return "none"
        bundle.require_of(folder, manifest)
        return "unchecked"
    public = call.a_file(key, "--key")
    bundle.require_of(folder, manifest)  # before anything is installed
    call.check(folder, manifest, public, SIGNING.python(Progress()))
    return "good"


def _versions(stated: list[str]) -> dict[str, str]:
    found = {}
    for text in stated:
        name, _, version = text.partition("=")
        if not re.fullmatch(r"\d+(\.\d+)*", version):
            raise UserError("a runtime is a name and a version", path="--runtime", got=text, hint="onnxruntime=1.32.0")
        found[name.replace("-", "_")] = version
    return found
