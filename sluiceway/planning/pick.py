"""What was said, else the default."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def pick(stated: T | None, default: T) -> T:
    """``stated`` unless it's None: a stated 0 or false counts as said."""
    return default if stated is None else stated
