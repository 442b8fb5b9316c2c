"""What a deployment of ours says of itself, for people and for the next run, which knows nothing else.

Cloudflare keeps the message with the deployment: it is the journal of worker versions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sluiceway.release.world import Deployment

MOST_BYTES: Final = 1000
_WHO: Final = "sluiceway"
_MARK: Final = re.compile(rf"^{_WHO} (ramp|done|failed|rollback) ([0-9a-f-]{{36}})(?:: |$)")


@dataclass(frozen=True)
class Mark:
    """``kind``: ``ramp`` moves ``version`` on; ``done`` gave it all; ``failed`` took it out; ``rollback`` left it."""

    kind: str
    version: str


def message(kind: str, version: str, words: str) -> str:
    """The message of a deployment: its mark, then ``words``, cut to what Cloudflare keeps."""
    text = f"{_WHO} {kind} {version}: {words}"
    return text.encode()[:MOST_BYTES].decode(errors="ignore")


def mark_of(deployment: Deployment) -> Mark | None:
    """The mark of a deployment of ours; None for one that somebody else made."""
    found = _MARK.match(deployment.message)
    return Mark(found.group(1), found.group(2)) if found else None


def words_of(deployment: Deployment) -> str:
    """The message without its mark."""
    return _MARK.sub("", deployment.message)
