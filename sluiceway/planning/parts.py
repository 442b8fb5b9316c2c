"""The parts of a stage plan. Times are whole seconds; nothing in a plan is left to be decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sluiceway.domain.model import ModelVersion, Task
from sluiceway.domain.rollout import RolloutSpec
from sluiceway.domain.split import Split
from sluiceway.planning.policy_parts import Semantic

ResourceName = Literal["kv", "bucket", "queue", "secret"]


@dataclass(frozen=True)
class Ref:
    """A value that is known once a resource exists.

    ``Ref("kv", "id")``, ``Ref("bucket", "name")``, ``Ref("queue", "name")``; of a secret the attribute is its name.
    """

    resource: ResourceName
    attribute: str


FieldValue = str | int | bool | Ref | Mapping[str, int]


@dataclass(frozen=True)
class Binding:
    """One binding of the Worker. ``fields`` has the API's own names, apart from ``name`` and ``type``."""

    name: str
    type: str
    fields: Mapping[str, FieldValue]


@dataclass(frozen=True)
class Export:
    """A class that the bundle exports and Cloudflare keeps objects of."""

    name: str
    type: str
    storage: str


@dataclass(frozen=True)
class Zone:
    name: str
    id: str


@dataclass(frozen=True)
class KvPlan:
    title: str


@dataclass(frozen=True)
class KvEntry:
    key: str
    value: str


@dataclass(frozen=True)
class LifecycleRule:
    """``prefix`` "" means every object. A time that is None means that the rule doesn't do that."""

    id: str
    enabled: bool
    prefix: str
    abort_multipart_after: int | None = None
    delete_after: int | None = None


@dataclass(frozen=True)
class BucketPlan:
    """``location`` is a lower-case hint or None for Cloudflare's choice; ``retain`` keeps the bucket on destroy."""

    name: str
    location: str | None
    jurisdiction: str
    retain: bool
    lifecycle: tuple[LifecycleRule, ...]


@dataclass(frozen=True)
class GatewayPlan:
    """AI Gateway, field for field. A limit of 0 means none; ``cache_ttl`` 0 means no cache."""

    id: str
    cache_ttl: int
    cache_invalidate_on_update: bool
    collect_logs: bool
    rate_limiting_interval: int
    rate_limiting_limit: int
    rate_limiting_technique: str
    authentication: bool
    workers_ai_billing_mode: str


@dataclass(frozen=True)
class QueuePlan:
    name: str
    message_retention_period: int
    delivery_delay: int


@dataclass(frozen=True)
class RateLimitRule:
    """One rule of the zone's http_ratelimit ruleset; ``ref`` marks it as this stage's."""

    ref: str
    description: str
    expression: str
    action: str
    enabled: bool
    characteristics: tuple[str, ...]
    period: int
    requests_per_period: int
    mitigation_timeout: int


@dataclass(frozen=True)
class HybridRoute:
    """Requests that the classifier ``by`` calls simple, with at least ``threshold``, go to the model ``simple``."""

    by: str
    simple: str
    threshold: float


@dataclass(frozen=True)
class ModelPlan:
    """A served model with all its versions, since a rollback may need any of them.

    ``split`` is what serves if nothing else is known; with a ``rollout`` its controller moves the weights.
    """

    name: str
    task: Task
    default: bool
    versions: tuple[ModelVersion, ...]
    split: Split
    fallback: tuple[str, ...] = ()
    rollout: RolloutSpec | None = None
    route: HybridRoute | None = None
    probes: tuple[Mapping[str, Any], ...] = ()
    """What its rollout's probes ask: bodies of chat completions without model."""


@dataclass(frozen=True)
class InferencePlan:
    """The Worker beside the gateway in which ONNX encoders run; a stage has it only if it serves one."""

    worker_name: str
    bindings: tuple[Binding, ...]


@dataclass(frozen=True)
class ArtifactPlan:
    """One file to lie in the bucket under ``key``. ``source_path`` is relative to the repository."""

    model: str
    version: int
    name: str
    source_path: str
    key: str
    sha256: str
    bytes: int
    content_type: str


@dataclass(frozen=True)
class Cors:
    origins: tuple[str, ...]
    max_age: int


@dataclass(frozen=True)
class Limits:
    """``requests`` per ``period`` is the limit inside the Worker; ``cpu_ms`` None means the platform's own."""

    body_bytes: int
    requests: int
    period: int
    max_tokens: int
    tokens_per_minute: int | None
    cpu_ms: int | None


@dataclass(frozen=True)
class Cache:
    enabled: bool
    ttl: int
    sampled: bool
    coalesce_ms: int
    semantic: Semantic | None


@dataclass(frozen=True)
class Log:
    prompts: bool


@dataclass(frozen=True)
class Observability:
    enabled: bool
    head_sampling_rate: float
    traces: bool
