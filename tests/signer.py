"""model-signing for tests: scripts/test.sh installs it before, so that no test has to.

python -m tests.signer
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from bench import command
from sluiceway.pipeline.signing.environment import SIGNING
from sluiceway.progress import Progress

MISSING: Final = "model-signing is not in the cache: `python -m tests.signer` installs it"
_KEYS: Final = """
import sys
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, rsa
private, public, kind, secret = sys.argv[1:]
key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(getattr(ec, kind)())
how = s.BestAvailableEncryption(secret.encode()) if secret else s.NoEncryption()
open(private, "wb").write(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, how))
open(public, "wb").write(key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
"""


def key_pair(folder: Path, name: str, kind: str = "SECP256R1", passphrase: str = "") -> tuple[Path, Path]:
    """A new private and public key in ``folder``: on a curve, or ``rsa``."""
    python = SIGNING.found()
    assert python is not None, MISSING
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    subprocess.run([python, "-c", _KEYS, private, public, kind, passphrase], check=True)
    return private, public


def main() -> None:
    SIGNING.python(Progress())


if __name__ == "__main__":
    command.run(main)
