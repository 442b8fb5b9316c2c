"""What a signature is of: names and digests in the statement that a Sigstore bundle carries.

The library takes from the statement itself which files it leaves out, so that a valid signature may be of half a
package. What is here says whether it is of all of it; whose it is, `run.check` says.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sluiceway.errors import UserError
from sluiceway.pipeline.package.manifest import NAME, SIGNATURE, Manifest
from sluiceway.pipeline.package.verify import sha256_of

MOST_BYTES: Final = 4 << 20
_PREDICATE: Final = "https://model_signing/signature/v1.0"
_AGAIN: Final = "sign the package again: sluiceway models sign FOLDER --key KEY"


def require_of(folder: Path, manifest: Manifest) -> bytes:
    """The signature in the package ``folder``, which is of all that ``manifest`` lists and of model.json.

    ``manifest`` is that of a verified package. UserError when there is none, it can't be read, or is of other files.
    """
    path = folder / SIGNATURE
    data = _read(path)
    signed = _signed(data, str(path))
    expected = {file.name: file.sha256 for file in manifest.files} | {NAME: sha256_of(folder / NAME)}
    for name in sorted(expected.keys() | signed.keys()):
        if name not in signed:
            raise UserError("the signature leaves out a file", path=str(path), got=name, hint=_AGAIN)
        if name not in expected:
            raise UserError("the signature is of a file that isn't there", path=str(path), got=name, hint=_AGAIN)
        if signed[name] != expected[name]:
            raise UserError("the signature is of another file of this name", path=str(path), got=name, hint=_AGAIN)
    return data


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"is larger than {MOST_BYTES} bytes", path=str(path), hint=_AGAIN)
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError("the package isn't signed", path=str(path), hint=_AGAIN) from None


def _signed(data: bytes, shown: str) -> dict[str, str]:
    """Digests by name. UserError for what is no signature of a model's files by sha256."""
    try:
        bundle = json.loads(data)
        statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"], validate=True))
        if statement["predicateType"] != _PREDICATE:
            raise ValueError(f"the predicate is {statement['predicateType']}")
        return _digests(statement["predicate"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        said = f"{type(error).__name__}: {str(error)[:200]}"
        raise UserError(f"is no signature of a package ({said})", path=shown, hint=_AGAIN) from None


def _digests(predicate: Mapping[str, Any]) -> dict[str, str]:
    if predicate["serialization"]["method"] != "files":
        raise ValueError("files are signed in pieces")
    found: dict[str, str] = {}
    for entry in predicate["resources"]:
        name, algorithm, digest = str(entry["name"]), entry["algorithm"], str(entry["digest"])
        if algorithm != "sha256":
            raise ValueError(f"a digest is by {algorithm}")
        if name in found:
            raise ValueError(f"{name} stands twice")
        found[name] = digest
    return found
