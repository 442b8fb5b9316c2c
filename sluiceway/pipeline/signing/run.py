"""What needs the library, in the environment that has it. No error of it is told in its own words: keys come near."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sluiceway.errors import UserError

_CURVES = "P-256, P-384 or P-521"


def sign(folder: str, key: str, out: str, passphrase: str) -> dict[str, Any]:
    """Writes the signature of all files in ``folder`` to ``out``, by the private key in the file ``key``.

    ``passphrase``: the name of the variable that holds the key's. Returns ``{}``. UserError for a key that is no use.
    """
    from model_signing import hashing, signing

    secret = os.environ.get(passphrase)
    try:
        # The library's type says text; what it hands on to takes bytes alone.
        config = signing.Config().use_elliptic_key_signer(
            private_key=key,
            password=secret.encode() if secret else None,  # type: ignore[arg-type, unused-ignore]
        )
    except Exception as error:
        raise _no_private_key(key, passphrase, secret is not None, error) from None
    paths = hashing.Config().set_ignored_paths(paths=[Path(out).name], ignore_git_paths=False)
    config.set_hashing_config(paths).sign(folder, out)
    return {}


def check(folder: str, key: str, signature: str) -> dict[str, Any]:
    """Whether the file ``signature`` is one of ``folder`` by the owner of the public ``key``: ``{}``, or UserError."""
    from model_signing import verifying

    try:
        config = verifying.Config().use_elliptic_key_verifier(public_key=key)
    except Exception:
        hint = f"name a public key on {_CURVES}: openssl pkey -in KEY.pem -pubout -out KEY.pub.pem"
        raise UserError("is no public key that a package can be signed for", path=key, hint=hint) from None
    try:
        config.verify(Path(folder), Path(signature))
    except Exception as error:
        hint = "whoever signed it has another key, or the signature was changed: don't use the package before you know"
        said = f"the package isn't signed by this key ({type(error).__name__})"
        raise UserError(said, path=folder, got=key, hint=hint) from None
    return {}


def _no_private_key(key: str, passphrase: str, told: bool, error: Exception) -> UserError:
    if isinstance(error, TypeError):
        message = "has no passphrase" if told else "is encrypted, and no passphrase is there"
        hint = f"unset {passphrase}" if told else f"put the passphrase into {passphrase}"
        return UserError(message, path=key, hint=hint)
    if told:
        return UserError("doesn't open by this passphrase", path=key, hint=f"see what {passphrase} holds")
    hint = f"name a private key on {_CURVES} in PEM: openssl ecparam -genkey -noout -name prime256v1 -out KEY.pem"
    return UserError("is no private key that a package can be signed by", path=key, hint=hint)
