"""The models that the local stage knows: names, windows, prices and features as Cloudflare publishes them.

Prices are US dollars per million tokens. ``default_max_tokens`` is what Workers AI stops at when a
request names no limit (256 for text generation, whatever the size of the model's window).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sluiceway.local.ai.errors import AiError

Task = Literal["Text Generation", "Text Embeddings", "Text Classification"]
Parts = Literal["none", "text", "vision"]


@dataclass(frozen=True)
class AiModel:
    """``parts``: what a message's content may be beside a string; ``native``: answers in the older
    ``{"response": ...}`` shape where it is run by its own name; ``dimensions``: of an embedding."""

    id: str
    task: Task
    context: int
    price_in: float
    price_out: float = 0.0
    price_cached: float | None = None
    parts: Parts = "none"
    tools: bool = False
    reasoning: bool = False
    native: bool = False
    batch: bool = False
    paid: bool = False
    lora: bool = False
    dimensions: int = 0
    default_max_tokens: int = 256

    @property
    def short(self) -> str:
        """``glm-4.7-flash`` of ``@cf/zai-org/glm-4.7-flash``."""
        return self.id.rsplit("/", 1)[-1]


def _chat(id: str, context: int, price_in: float, price_out: float, **more: object) -> AiModel:
    return AiModel(id, "Text Generation", context, price_in, price_out, **more)  # type: ignore[arg-type]


def _embedding(id: str, dimensions: int, price: float, context: int = 512) -> AiModel:
    return AiModel(id, "Text Embeddings", context, price, dimensions=dimensions, batch=True)


_KIMI = "@cf/moonshotai/"
_GLM = "@cf/zai-org/"

_MODELS = (
    _chat(f"{_KIMI}kimi-k2.6", 262_144, 0.95, 4.0, price_cached=0.16, parts="vision", tools=True, reasoning=True,
          paid=True),
    _chat(f"{_KIMI}kimi-k2.7-code", 262_144, 0.95, 4.0, price_cached=0.19, parts="vision", tools=True, reasoning=True,
          paid=True),
    _chat(f"{_GLM}glm-4.7-flash", 131_072, 0.06, 0.40, parts="text", tools=True, reasoning=True),
    _chat(f"{_GLM}glm-5.2", 262_144, 1.40, 4.40, price_cached=0.26, parts="text", tools=True, reasoning=True,
          paid=True),
    _chat(f"{_GLM}glm-5.3", 1_048_576, 1.40, 4.40, price_cached=0.26, parts="text", tools=True, reasoning=True,
          paid=True),
    _chat(f"{_GLM}glm-5.3-flash", 1_048_576, 0.15, 0.50, price_cached=0.03, parts="vision", tools=True,
          reasoning=True, paid=True),
    _chat("@cf/meta/llama-3.1-8b-instruct", 7_968, 0.28, 0.83, native=True),
    _chat("@cf/meta/llama-3.1-8b-instruct-fast", 128_000, 0.045, 0.38, native=True),
    _chat("@cf/meta/llama-3.2-3b-instruct", 80_000, 0.051, 0.34, native=True),
    _chat("@cf/meta/llama-3.3-70b-instruct-fp8-fast", 24_000, 0.29, 2.25, native=True, tools=True, batch=True),
    _chat("@cf/meta-llama/llama-2-7b-chat-hf-lora", 8_192, 0.0, 0.0, native=True, lora=True),
    _chat("@cf/mistral/mistral-7b-instruct-v0.2-lora", 15_000, 0.0, 0.0, native=True, lora=True),
    _chat("@cf/google/gemma-2b-it-lora", 8_192, 0.0, 0.0, native=True, lora=True),
    _chat("@cf/google/gemma-7b-it-lora", 3_500, 0.0, 0.0, native=True, lora=True),
    _embedding("@cf/baai/bge-m3", 1024, 0.012, context=8_192),
    _embedding("@cf/baai/bge-small-en-v1.5", 384, 0.020),
    _embedding("@cf/baai/bge-base-en-v1.5", 768, 0.067),
    _embedding("@cf/baai/bge-large-en-v1.5", 1024, 0.204),
    _embedding("@cf/qwen/qwen3-embedding-0.6b", 1024, 0.012, context=8_192),
    _embedding("@cf/google/embeddinggemma-300m", 768, 0.0),
    _embedding("@cf/pfnet/plamo-embedding-1b", 2048, 0.019, context=4_096),
    AiModel("@cf/baai/bge-reranker-base", "Text Classification", 512, 0.003),
)  # fmt: skip

MODELS: dict[str, AiModel] = {model.id: model for model in _MODELS}

# A retired name that Cloudflare answers under with another model, at that model's price.
ALIASES = {f"{_KIMI}kimi-k2.5": f"{_KIMI}kimi-k2.6"}


def find(name: str) -> AiModel:
    """The model that a name means today; AiError 5007 if there is none."""
    model = MODELS.get(ALIASES.get(name, name))
    if model is None:
        raise AiError(5007, f"No such model {name} or task")
    return model


def described(model: AiModel, number: int) -> dict[str, object]:
    """One entry of ``ai/models/search``."""
    flags = {"function_calling": model.tools, "reasoning": model.reasoning, "async_queue": model.batch,
             "vision": model.parts == "vision", "lora": model.lora, "require_workers_paid": model.paid}  # fmt: skip
    prices = [{"unit": "per M input tokens", "price": model.price_in, "currency": "USD"}]
    if model.task == "Text Generation":
        prices.append({"unit": "per M output tokens", "price": model.price_out, "currency": "USD"})
    properties: list[dict[str, object]] = [
        {"property_id": "context_window", "value": str(model.context)},
        {"property_id": "price", "value": prices},
    ]
    properties += [{"property_id": name, "value": "true"} for name, on in flags.items() if on]
    return {
        "id": f"00000000-0000-4000-8000-{number:012x}",
        "source": 1,
        "name": model.id,
        "description": f"{model.short}, answered on the local stage by a stand-in",
        "task": {"id": f"task-{model.task.lower().replace(' ', '-')}", "name": model.task, "description": model.task},
        "tags": [],
        "properties": properties,
    }


def search(*, text: str = "", task: str = "", page: int = 1, per_page: int = 50) -> tuple[list[dict[str, object]], int]:
    """One page of models whose name holds ``text``, and how many there are in all."""
    found = [
        described(model, number)
        for number, model in enumerate(_MODELS, 1)
        if text.lower() in model.id.lower() and task.lower() in model.task.lower()
    ]
    return found[(page - 1) * per_page : page * per_page], len(found)
