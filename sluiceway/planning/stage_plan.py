"""All that a stage is to be, and the documents that the Worker reads of it."""

from __future__ import annotations

from dataclasses import dataclass

from sluiceway.domain.model import ModelVersion
from sluiceway.domain.release import Json
from sluiceway.planning.parts import (
    ArtifactPlan,
    Binding,
    BucketPlan,
    Cache,
    Cors,
    Export,
    GatewayPlan,
    InferencePlan,
    KvEntry,
    KvPlan,
    Limits,
    Log,
    ModelPlan,
    Observability,
    QueuePlan,
    RateLimitRule,
    Zone,
)
from sluiceway.planning.policy_parts import Auth, Policies, Rollouts, document
from sluiceway.planning.releases import ReleasePlan


@dataclass(frozen=True)
class StagePlan:
    """One stage. ``bindings`` are sorted by name; ``routes`` are patterns and ``custom_domains`` host names."""

    stage: str
    account_id: str
    zone: Zone | None
    worker_name: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    bindings: tuple[Binding, ...]
    exports: tuple[Export, ...]
    kv: KvPlan
    kv_entries: tuple[KvEntry, ...]
    bucket: BucketPlan
    gateway: GatewayPlan | None
    inference: InferencePlan | None
    queue: QueuePlan
    rate_limit_rules: tuple[RateLimitRule, ...]
    routes: tuple[str, ...]
    custom_domains: tuple[str, ...]
    crons: tuple[str, ...]
    workers_dev: bool
    previews: bool
    models: tuple[ModelPlan, ...]
    artifacts: tuple[ArtifactPlan, ...]
    secrets: tuple[str, ...]
    cors: Cors
    limits: Limits
    cache: Cache
    auth: Auth
    policies: Policies
    log: Log
    observability: Observability
    release: ReleasePlan
    rollouts: Rollouts | None

    def models_document(self) -> dict[str, Json]:
        """The value of ``models`` in config.json."""
        return {model.name: self._model(model) for model in self.models}

    def rollout_sentences(self) -> tuple[str, ...]:
        """What each rollout means, for people: ``chat: chat@1 -> chat@2 by canary 1, 10, 50, 100 %, at least 2 h``."""
        return tuple(model.rollout.sentence(model.name) for model in self.models if model.rollout)

    def release_inputs(self) -> dict[str, Json]:
        """What a release is made of, apart from the bundle's digest."""
        return {
            "models": self.models_document(),
            "gateway": self.gateway.id if self.gateway else None,
            "limits": self._limits(),
            "cache": self._cache(),
            **self.policies.document("timeouts", "resilience", "guard", "conversations"),
        }

    def config_document(self, release: str) -> dict[str, Json]:
        """The whole of config.json, which the Worker of this stage reads when it starts."""
        told: dict[str, Json] = {"rollouts": document(self.rollouts)} if self.rollouts else {}
        return {
            **self.release_inputs(),
            **told,
            "stage": self.stage,
            "release": release,
            "worker": self.worker_name,
            "cors": {"origins": list(self.cors.origins), "max_age": self.cors.max_age},
            **self.policies.document(),
            "auth": document(self.auth),
            "log": {"prompts": self.log.prompts},
        }

    def _limits(self) -> Json:
        limits = self.limits
        return {
            "body_bytes": limits.body_bytes,
            "requests": limits.requests,
            "period": limits.period,
            "max_tokens": limits.max_tokens,
            "tokens_per_minute": limits.tokens_per_minute,
        }

    def _cache(self) -> Json:
        cache = self.cache
        semantic = document(cache.semantic) if cache.semantic else None
        return {
            "enabled": cache.enabled,
            "ttl": cache.ttl,
            "sampled": cache.sampled,
            "coalesce_ms": cache.coalesce_ms,
            "semantic": semantic,
        }

    def _model(self, model: ModelPlan) -> Json:
        document: dict[str, Json] = {
            "task": model.task,
            "versions": {str(version.number): self._version(version) for version in model.versions},
            "split": [[version, weight] for version, weight in model.split.weights],
        }
        if model.default:
            document["default"] = True
        if model.fallback:
            document["fallback"] = list(model.fallback)
        if model.rollout:
            document["rollout"] = model.rollout.document()
        if model.probes:
            document["probes"] = [dict(probe) for probe in model.probes]
        if model.route:
            route = model.route
            document["route"] = {"by": route.by, "simple": route.simple, "threshold": route.threshold}
        return document

    def _version(self, version: ModelVersion) -> Json:
        document: dict[str, Json] = {"backend": version.backend}
        for name in ("id", "lora", "base_url", "secret", "provider", "context_window", "prompt"):
            if (stated := getattr(version, name)) is not None:
                document[name] = stated
        if version.price is not None:
            price = version.price
            document["price"] = {"input": price.input, "cached": price.cached, "output": price.output}
        for name in ("vision", "guided"):
            if getattr(version, name):
                document[name] = True
        if version.parameters:
            document["parameters"] = dict(version.parameters)
        files: list[Json] = [
            {"name": file.name, "key": file.key, "sha256": file.sha256, "bytes": file.bytes}
            for file in self.artifacts
            if (file.model, file.version) == (version.model, version.number)
        ]
        if files:
            document["artifact"] = {"files": files}
        return document
