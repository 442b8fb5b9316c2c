"""Paths as files of this repository state them."""

from __future__ import annotations


def is_inside(text: str) -> bool:
    """Whether ``text`` names something below the folder that it is read from, the same on every system."""
    parts = text.split("/")
    return not (text.startswith("/") or "\\" in text or ":" in text or not all(parts) or {".", ".."} & set(parts))
