"""Names of what a stage owns. Each holds the stage's name, so that no stage can take another's thing."""

from __future__ import annotations

from zlib import crc32

from sluiceway.domain.stage import ORDER

PRODUCT = "sluiceway"


def worker(stage: str) -> str:
    return f"{PRODUCT}-{stage}"


def inference(stage: str) -> str:
    return f"{PRODUCT}-{stage}-inference"


def kv_title(stage: str) -> str:
    return f"{PRODUCT}-{stage}-cache"


def bucket(stage: str) -> str:
    return f"{PRODUCT}-{stage}-models"


def queue(stage: str) -> str:
    return f"{PRODUCT}-{stage}-events"


def gateway(stage: str) -> str:
    return f"{PRODUCT}-{stage}"


def dataset(stage: str) -> str:
    """Analytics Engine takes no hyphens."""
    return f"{PRODUCT}_{stage.replace('-', '_')}"


def rule(stage: str, name: str) -> str:
    return f"{PRODUCT}-{stage}-{name}"


def rate_limit_namespace(stage: str) -> str:
    """A positive number as text. Workers of one account that use the same number share its counters."""
    if stage in ORDER:
        return str(1001 + ORDER.index(stage))
    return str(10_000 + crc32(stage.encode()) % 1_000_000)


def artifact_key(model: str, version: int, sha256: str, name: str) -> str:
    """Where a file lies in the bucket: the digest is in the key, so no upload ever overwrites another's bytes."""
    return f"models/{model}/{version}/{sha256}/{name}"
