"""A stage of a build, and its digest: what decides its bytes, known before it is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """``kind``: source, export, a pass's kind, validate, package. ``inputs``: the stages it reads, in its order.

    ``settings`` are plain JSON; ``version`` is the code's own number, which rises when the same input gives other
    bytes. ``block``: a pass as the recipe has it, which names files where ``settings`` have their sha256.
    """

    kind: str
    settings: Mapping[str, Any]
    inputs: tuple[Stage, ...]
    version: int
    block: Mapping[str, Any] | None = None

    @property
    def digest(self) -> str:
        """sha256 in hex over kind, settings, version and the digests of the inputs."""
        return hashlib.sha256(
            canonical(
                {
                    "kind": self.kind,
                    "settings": dict(self.settings),
                    "version": self.version,
                    "inputs": [stage.digest for stage in self.inputs],
                }
            )
        ).hexdigest()


def canonical(document: object) -> bytes:
    """The same bytes for the same document."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
