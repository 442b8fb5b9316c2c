"""What is uploaded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Module:
    """One module as it is uploaded: its name, its content type, its bytes."""

    name: str
    content_type: str
    content: bytes
