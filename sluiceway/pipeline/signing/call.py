"""Signs and checks packages, each in a process of the environment that has the library."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sluiceway.errors import UserError
from sluiceway.pipeline.package.manifest import SIGNATURE, Manifest
from sluiceway.pipeline.runner.spawn import PRIVATE, Job, run
from sluiceway.pipeline.signing import bundle

KEY, PASSPHRASE = PRIVATE
"""Variables: the first names the file of the private key, where a build signs."""
_RUN: Final = "sluiceway.pipeline.signing.run"
_SLOWEST: Final = 5_000_000
"""Bytes a second that the slowest disk is taken to give."""


def patience(folder: Path) -> float:
    """Seconds after which a signature of ``folder`` isn't waited for any more: the library reads every byte once."""
    return 120 + sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / _SLOWEST


def named_key(env: Mapping[str, str]) -> Path:
    """The file of the private key that ``env`` names. UserError when it names none, or one that isn't there."""
    named = env.get(KEY)
    if not named:
        hint = f"put the path of a private key into {KEY}: a key never stands in a recipe"
        raise UserError("names no key to sign the package by", path=KEY, hint=hint)
    return a_file(Path(named), KEY)


def a_file(key: Path, shown: str) -> Path:
    """UserError unless ``key`` is a file."""
    if not key.is_file():
        raise UserError("there is no such file of a key", path=shown, got=str(key), hint="name a file in PEM")
    return key.absolute()


def sign(folder: Path, key: Path, python: Path) -> Path:
    """Puts the signature of the package in ``folder`` by the private ``key`` into it, in place of one that is there.

    ``python``: the interpreter that has the library. The package was verified before. UserError for a key that is no
    use, SluicewayError when it takes too long; then nothing is changed.
    """
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=f".{folder.name}.signing-") as beside:
        out = Path(beside) / SIGNATURE
        arguments = {"folder": str(folder.absolute()), "key": str(key), "out": str(out), "passphrase": PASSPHRASE}
        run(Job(f"{_RUN}:sign", arguments, str(folder), str(python), patience(folder), signs=True))
        out.replace(folder / SIGNATURE)
    return folder / SIGNATURE


def check(folder: Path, manifest: Manifest, key: Path, python: Path) -> None:
    """UserError unless the verified package in ``folder`` is signed, as a whole, by the owner of the public ``key``.

    SluicewayError when that takes too long to find out.
    """
    data = bundle.require_of(folder, manifest)
    with tempfile.TemporaryDirectory(prefix="sluiceway-signature-") as own:
        # The same bytes that were just read: the file may be another by now.
        copy = Path(own) / SIGNATURE
        copy.write_bytes(data)
        arguments = {"folder": str(folder.absolute()), "key": str(key), "signature": str(copy)}
        run(Job(f"{_RUN}:check", arguments, str(folder), str(python), patience(folder)))
