"""Which release of the engine is used here."""

from __future__ import annotations

from typing import Final

VERSION: Final = "3.274.1"
"""Fetched or built. Kept equal to engine-build/go.mod."""

OLDEST: Final = (3, 200, 0)
"""The oldest engine on PATH that is taken."""
