"""The digest that names a release: bundle, models, prompts and routing, over one canonical spelling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def canonical(document: Mapping[str, Json]) -> str:
    """One spelling for one meaning: keys sorted, no spaces, characters as they are. NaN and infinities are refused."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(document: Mapping[str, Json]) -> str:
    """sha256 of the canonical spelling, 64 hex digits."""
    return sha256(canonical(document).encode()).hexdigest()


def release_id(document: Mapping[str, Json]) -> str:
    """``r-`` and the first 12 hex digits of the digest."""
    return f"r-{digest(document)[:12]}"
