"""Model ids that Workers AI serves, so that a wrong letter is found here and not by a customer.

A new id of Cloudflare's is one line here. Ids that Cloudflare has retired but still answers under
another model's name are refused, since a version must keep its meaning.
"""

from __future__ import annotations

from typing import Final

from sluiceway.domain.model import Task

IDS: Final[dict[str, Task]] = {
    "@cf/moonshotai/kimi-k2.6": "chat",
    "@cf/moonshotai/kimi-k2.7-code": "chat",
    "@cf/zai-org/glm-4.7-flash": "chat",
    "@cf/zai-org/glm-5.2": "chat",
    "@cf/zai-org/glm-5.3": "chat",
    "@cf/zai-org/glm-5.3-flash": "chat",
    "@cf/baai/bge-m3": "embed",
    "@cf/baai/bge-small-en-v1.5": "embed",
    "@cf/baai/bge-base-en-v1.5": "embed",
    "@cf/baai/bge-large-en-v1.5": "embed",
    "@cf/qwen/qwen3-embedding-0.6b": "embed",
    "@cf/pfnet/plamo-embedding-1b": "embed",
    "@cf/google/embeddinggemma-300m": "embed",
}

RETIRED: Final = {"@cf/moonshotai/kimi-k2.5": "@cf/moonshotai/kimi-k2.6"}
"""Retired id -> what Cloudflare really answers with, silently and at another price."""
