"""Limits of KV, in the words of the service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from sluiceway.local.api.errors import ApiError
from sluiceway.local.store import Json

MAX_KEY_BYTES = 512
MAX_VALUE_BYTES = 25 * 1024 * 1024
MAX_METADATA_BYTES = 1024
MIN_TTL_SECONDS = 60
MAX_SECONDS = 2**53 - 1
MAX_BULK = 10_000
MAX_BULK_GET = 100
MAX_BULK_BYTES = 100 * 1024 * 1024
MAX_TITLE = 512
MAX_NAMESPACES = 1000


def namespace_not_found(verb: str) -> ApiError:
    return ApiError(404, 10013, f"{verb}: 'namespace not found'")


def key_not_found() -> ApiError:
    return ApiError(404, 10009, "get: 'key not found'")


def check_key(verb: str, key: str) -> None:
    length = len(key.encode())
    if not key:
        raise ApiError(400, 10029, f"{verb}: 'key name cannot be empty'")
    if key in (".", ".."):
        raise ApiError(400, 10029, f"{verb}: '\"{key}\" is not allowed as a key name'")
    if length > MAX_KEY_BYTES:
        raise ApiError(
            414, 10030, f"{verb}: 'UTF-8 encoded length of {length} exceeds key length limit of {MAX_KEY_BYTES}.'"
        )


def check_value(verb: str, value: bytes) -> None:
    if len(value) > MAX_VALUE_BYTES:
        raise ApiError(413, 10031, f"{verb}: 'Value length of {len(value)} exceeds limit of {MAX_VALUE_BYTES}.'")


def check_metadata(verb: str, metadata: Json) -> None:
    length = len(json.dumps(metadata, separators=(",", ":"), ensure_ascii=False).encode())
    if length > MAX_METADATA_BYTES:
        raise ApiError(413, 10032, f"{verb}: 'Metadata length of {length} exceeds limit of {MAX_METADATA_BYTES}.'")


def expiry(verb: str, given: Mapping[str, Json], now: datetime) -> dict[str, int]:
    """``expiration`` and ``expiration_ttl`` as whole numbers, if they are there and allowed."""
    found: dict[str, int] = {}
    if (ttl := given.get("expiration_ttl")) not in (None, ""):
        found["expiration_ttl"] = seconds = _whole(verb, "expiration_ttl", ttl)
        if seconds < MIN_TTL_SECONDS:
            raise ApiError(
                400,
                10033,
                f"{verb}: 'Invalid expiration_ttl of {seconds}. Expiration TTL must be at least {MIN_TTL_SECONDS}.'",
            )
    if (moment := given.get("expiration")) not in (None, ""):
        found["expiration"] = at = _whole(verb, "expiration", moment)
        if at < now.timestamp() + MIN_TTL_SECONDS:
            raise ApiError(
                400,
                10034,
                f"{verb}: 'Invalid expiration of {at}. Expiration times must be at least {MIN_TTL_SECONDS} seconds in"
                " the future.'",
            )
    # A lifetime wins over a moment, as in the runtime.
    return {"expiration_ttl": found["expiration_ttl"]} if "expiration_ttl" in found else found


def _whole(verb: str, name: str, value: Json) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if not 0 <= number <= MAX_SECONDS:
        raise ApiError(400, 10033, f"{verb}: 'Invalid {name} of {str(value)[:40]}. Please specify an integer.'")
    return number
