"""What the API is told at start; the clock and the source of ids are arguments, so that tests own them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sluiceway.local.runtime_file import ACCOUNT_ID, SUBDOMAIN

AUTHOR = "local@sluiceway.test"


def utc_now() -> datetime:
    return datetime.now(UTC)


def zone_id(name: str) -> str:
    """Zone ids are md5 of the zone's name: stable over resets."""
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def token_id(token: str) -> str:
    """Public id of an API token, also the S3 access key id."""
    return hashlib.sha256(f"id:{token}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class ApiConfig:
    """``token``: the only API token accepted. ``modules``: absolute folder of module files, by sha256."""

    token: str
    modules: Path
    front_url: str = ""
    account_id: str = ACCOUNT_ID
    account_name: str = "Local stage"
    subdomain: str = SUBDOMAIN
    zones: tuple[str, ...] = ("sluiceway.test",)
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], uuid.UUID] = uuid.uuid4

    def stamp(self) -> str:
        """The time as the API writes it."""
        return self.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def hex_id(self) -> str:
        return self.new_id().hex

    def uuid(self) -> str:
        return str(self.new_id())
