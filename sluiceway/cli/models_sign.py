"""``sluiceway models sign``: a package gets its signature, or another one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sluiceway.cli.output import JsonFlag, print_json, say
from sluiceway.progress import Progress

Folder = Annotated[Path, typer.Argument(help="A package: what `models build` made.", metavar="FOLDER")]
Private = Annotated[
    Path | None,
    typer.Option("--key", help="The private key, in PEM; else what SLUICEWAY_SIGNING_KEY names.", metavar="KEY"),
]


def register(app: typer.Typer) -> None:
    app.command("sign")(sign_)


def sign_(folder: Folder, key: Private = None, as_json: JsonFlag = False) -> None:
    """Verify the package in FOLDER and sign all of it, into model.sig; a signature that is there is replaced.

    The passphrase of an encrypted key is read from SLUICEWAY_SIGNING_PASSPHRASE.
    """
    from sluiceway.pipeline.package import installed, verify
    from sluiceway.pipeline.signing import call
    from sluiceway.pipeline.signing.environment import SIGNING

    private = call.named_key(os.environ) if key is None else call.a_file(key, "--key")
    manifest = verify(folder, installed())
    signature = call.sign(folder, private, SIGNING.python(Progress()))
    if as_json:
        signed = len(manifest.files) + 1
        print_json({"folder": str(folder), "model": manifest.model, "signature": str(signature), "files": signed})
        return
    say(f"signed {manifest.model}: {signature}; check it with: sluiceway models verify {folder} --key PUBLIC")
