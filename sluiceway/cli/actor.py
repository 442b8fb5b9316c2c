"""Who is at work, for a journal."""

from __future__ import annotations

import getpass
import os


def actor() -> str:
    """Who is at work: whom GitHub names, else who is logged in."""
    named = os.environ.get("GITHUB_ACTOR", "").strip()
    try:
        return named or getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
