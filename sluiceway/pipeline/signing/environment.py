"""The environment that the signing library is installed into."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sluiceway.pipeline.environment import Environment

SIGNING: Final = Environment(
    name="model-signing",
    lock=Path(__file__).with_name("requirements.lock"),
    folder="signing",
    title="installing model-signing, once (20 MB to fetch)",
    proof="from model_signing import signing, verifying",
    needed_gb=0.3,
    usual_seconds=15.0,
    machines="model-signing's cryptography has wheels for Linux, macOS and Windows, and for Python 3.11 to 3.14",
)
