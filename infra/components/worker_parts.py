"""Parts of a Worker as the provider takes them."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pulumi

from sluiceway.planning import Binding, Observability, Ref
from sluiceway.render import Module


def module(module: Module) -> dict[str, str]:
    return {
        "name": module.name,
        "content_type": module.content_type,
        "content_base64": base64.b64encode(module.content).decode("ascii"),
    }


def binding(binding: Binding, values: Mapping[Ref, pulumi.Input[str]]) -> dict[str, object]:
    fields = {key: _field(value, values) for key, value in binding.fields.items()}
    return {"name": binding.name, "type": binding.type, **fields}


def _field(value: object, values: Mapping[Ref, pulumi.Input[str]]) -> object:
    if isinstance(value, Ref):
        return values[value]
    return dict(value) if isinstance(value, Mapping) else value


def observability(settings: Observability) -> dict[str, object]:
    return {
        "enabled": settings.enabled,
        "head_sampling_rate": settings.head_sampling_rate,
        "traces": {"enabled": settings.traces},
    }
