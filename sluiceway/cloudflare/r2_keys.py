"""R2's S3 keys, which Cloudflare makes of an API token. Apart from the client, since importing that takes a while."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256


@dataclass(frozen=True)
class Credentials:
    """An S3 key pair. The secret is left out of its repr."""

    access_key_id: str
    secret_access_key: str = field(repr=False)


def credentials(token: str, token_id: str) -> Credentials:
    """The key pair that Cloudflare derives from an API token: its id, and the sha256 of its value."""
    return Credentials(token_id, sha256(token.encode()).hexdigest())


def local_token_id(token: str) -> str:
    """The id of the local stage's token: 32 hex digits."""
    return sha256(f"id:{token}".encode()).hexdigest()[:32]
