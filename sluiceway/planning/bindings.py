"""The Worker's bindings: their names are fixed, since the gateway's code knows them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from sluiceway.planning import names
from sluiceway.planning.parts import Binding, BucketPlan, Export, FieldValue, InferencePlan, Limits, Ref

# Binding -> the class of its Durable Objects.
OBJECTS: Final = {
    "CONVERSATIONS": "Conversation",
    "KEYS": "KeyRing",
    "LEDGER": "Ledger",
    "ROLLOUTS": "RolloutController",
}
EXPORTS: Final = tuple(Export(name, "durable-object", "sqlite") for name in sorted(OBJECTS.values()))


def bindings(
    stage: str, bucket: BucketPlan, limits: Limits, secrets: tuple[str, ...], inference: InferencePlan | None
) -> tuple[Binding, ...]:
    """All bindings, sorted by name: the order in which they are sent and compared."""
    simple = MappingProxyType({"limit": limits.requests, "period": limits.period})
    found = [
        _binding("AI", "ai"),
        _binding("CACHE", "kv_namespace", namespace_id=Ref("kv", "id")),
        _binding("EVENTS", "queue", queue_name=Ref("queue", "name")),
        _binding("METRICS", "analytics_engine", dataset=names.dataset(stage)),
        models(bucket),
        _binding("RATE_LIMIT", "ratelimit", namespace_id=names.rate_limit_namespace(stage), simple=simple),
        *(
            _binding(name, "durable_object_namespace", class_name=object_class)
            for name, object_class in OBJECTS.items()
        ),
        _binding("VERSION", "version_metadata"),
        *([_binding("INFERENCE", "service", service=inference.worker_name)] if inference else []),
        *(_binding(name, "secret_text", text=Ref("secret", name)) for name in secrets),
    ]
    return tuple(sorted(found, key=lambda binding: binding.name))


NAMES: Final = frozenset({"AI", "CACHE", "EVENTS", "INFERENCE", "METRICS", "MODELS", "RATE_LIMIT", "VERSION", *OBJECTS})
"""Names that a secret can't have."""


def models(bucket: BucketPlan) -> Binding:
    """The bucket with the files of model versions."""
    fields: dict[str, FieldValue] = {"bucket_name": Ref("bucket", "name")}
    if bucket.jurisdiction != "default":
        fields["jurisdiction"] = bucket.jurisdiction
    return _binding("MODELS", "r2_bucket", **fields)


def _binding(name: str, kind: str, **fields: FieldValue) -> Binding:
    return Binding(name, kind, MappingProxyType(dict(fields)))
