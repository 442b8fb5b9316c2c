"""The adapter that a request asks for: there, whole, and for this model; else Workers AI's own error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sluiceway.local.ai.engine import ChatRequest
from sluiceway.local.ai.errors import AiError

_FILES = ("adapter_config.json", "adapter_model.safetensors")


def adapted(request: ChatRequest, finetune: Callable[[str], Mapping[str, Any] | None]) -> ChatRequest:
    """The request with the adapter's name in the place of what asked for it, which may be its id.

    AiError 3037 when the account has none for this model (its HTTP status isn't published), 3039 when it lacks files.
    """
    if request.lora is None:
        return request
    found = finetune(request.lora)
    if found is None or found["model"] != request.model.id:
        raise AiError(3037, f"Finetune {request.lora} not found")
    if any(name not in found["assets"] for name in _FILES):
        raise AiError(3039, "Finetune is missing required files (model.safetensors and config.json)", status=400)
    return replace(request, lora=str(found["name"]))
