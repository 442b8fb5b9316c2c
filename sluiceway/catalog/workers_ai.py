"""Models that Workers AI serves, with what is published of them, so that a wrong letter is found here and not by a
customer, and cost and window are known without being stated.

A new model of Cloudflare's is one line here. Ids that Cloudflare has retired but still answers under
another model's name are refused, since a version must keep its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sluiceway.domain.model import Price, Task


@dataclass(frozen=True)
class Known:
    """``context_window`` in tokens. None: Cloudflare publishes no figure."""

    task: Task
    price: Price | None
    context_window: int | None = None
    vision: bool = False


def _chat(window: int | None, price: Price | None, *, vision: bool = False) -> Known:
    return Known("chat", price, window, vision)


def _embed(input: float | None) -> Known:
    return Known("embed", None if input is None else Price(input, 0.0))


MODELS: Final[dict[str, Known]] = {
    "@cf/moonshotai/kimi-k2.6": _chat(262_144, Price(0.95, 4.00, 0.16), vision=True),
    "@cf/moonshotai/kimi-k2.7-code": _chat(262_144, Price(0.95, 4.00, 0.19), vision=True),
    "@cf/zai-org/glm-4.7-flash": _chat(131_072, Price(0.06, 0.40)),
    "@cf/zai-org/glm-5.2": _chat(262_144, Price(1.40, 4.40, 0.26)),
    "@cf/zai-org/glm-5.3": _chat(1_048_576, Price(1.40, 4.40, 0.26)),
    "@cf/zai-org/glm-5.3-flash": _chat(None, Price(0.15, 0.50, 0.03), vision=True),
    # These four take LoRA adapters (lora_bases.py). They are in beta, for which Cloudflare publishes no price.
    "@cf/meta-llama/llama-2-7b-chat-hf-lora": _chat(8_192, None),
    "@cf/mistral/mistral-7b-instruct-v0.2-lora": _chat(15_000, None),
    "@cf/google/gemma-2b-it-lora": _chat(8_192, None),
    "@cf/google/gemma-7b-it-lora": _chat(3_500, None),
    "@cf/baai/bge-m3": _embed(0.012),
    "@cf/baai/bge-small-en-v1.5": _embed(0.020),
    "@cf/baai/bge-base-en-v1.5": _embed(0.067),
    "@cf/baai/bge-large-en-v1.5": _embed(0.204),
    "@cf/qwen/qwen3-embedding-0.6b": _embed(0.012),
    "@cf/pfnet/plamo-embedding-1b": _embed(0.019),
    "@cf/google/embeddinggemma-300m": _embed(None),
}

RETIRED: Final = {"@cf/moonshotai/kimi-k2.5": "@cf/moonshotai/kimi-k2.6"}
"""Retired id -> what Cloudflare really answers with, silently and at another price."""
