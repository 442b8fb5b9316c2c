"""Decides a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sluiceway.catalog import Catalog
from sluiceway.domain.model import Model, parse_ref
from sluiceway.domain.split import Split
from sluiceway.errors import UserError
from sluiceway.planning import backends, edge, hybrid, names, rollouts, storage
from sluiceway.planning.bindings import EXPORTS, NAMES, bindings
from sluiceway.planning.parts import (
    Cache,
    Cors,
    GatewayPlan,
    KvPlan,
    Limits,
    Log,
    ModelPlan,
    Observability,
    Zone,
)
from sluiceway.planning.pick import pick
from sluiceway.planning.policies import auth, policies, semantic
from sluiceway.planning.releases import release
from sluiceway.planning.stage_plan import StagePlan
from sluiceway.settings.checks import STAGE_SECRETS
from sluiceway.settings.model import ModelSettings, Settings

COMPATIBILITY_DATE: Final = "2026-07-01"
# So that a client who leaves before the first byte ends the model's work as well.
COMPATIBILITY_FLAGS: Final = ("enable_request_signal",)


Probes = Mapping[str, Sequence[Mapping[str, Any]]]
"""What probes ask of each model that has golden prompts."""


def plan(settings: Settings, catalog: Catalog, probes: Probes | None = None) -> StagePlan:
    """The plan of one stage. UserError when the settings name a model or version that the catalogue hasn't."""
    models, bucket = _models(settings, catalog, probes), storage.bucket(settings)
    limits, secrets, gateway = _limits(settings), _secrets(settings), _gateway(settings)
    backends.check(settings, models, secrets, gateway)
    inference = storage.inference(settings.stage, models, bucket)
    return StagePlan(
        stage=settings.stage,
        account_id=settings.account_id,
        zone=Zone(settings.zone.name, settings.zone.id) if settings.zone else None,
        worker_name=_worker_name(settings),
        compatibility_date=COMPATIBILITY_DATE,
        compatibility_flags=COMPATIBILITY_FLAGS,
        bindings=bindings(settings.stage, bucket, limits, secrets, inference),
        exports=EXPORTS,
        kv=KvPlan(names.kv_title(settings.stage)),
        kv_entries=storage.kv_entries(settings, _worker_name(settings)),
        bucket=bucket,
        gateway=gateway,
        inference=inference,
        queue=storage.queue(settings),
        rate_limit_rules=edge.rate_limit_rules(settings),
        routes=settings.routes,
        custom_domains=settings.custom_domains,
        crons=settings.crons,
        workers_dev=pick(settings.workers_dev, True),
        previews=pick(settings.previews, False),
        models=models,
        artifacts=storage.artifacts(models),
        secrets=secrets,
        cors=Cors(pick(settings.cors.origins, ()), pick(settings.cors.max_age, 600)),
        limits=limits,
        cache=_cache(settings),
        auth=auth(settings.auth),
        policies=policies(settings, catalog, secrets),
        log=Log(pick(settings.log.prompts, False)),
        observability=_observability(settings),
        release=release(settings.release),
        rollouts=rollouts.told(settings, secrets),
    )


def _worker_name(settings: Settings) -> str:
    return pick(settings.worker_name, names.worker(settings.stage))


def _models(settings: Settings, catalog: Catalog, probes: Probes | None) -> tuple[ModelPlan, ...]:
    root = f"{settings.source}: config.sluiceway:models"
    if not settings.models:
        known = ", ".join(model.name for model in catalog.models) or "none yet"
        hint = f"take the key out to serve what Pulumi.yaml says, or give a split to one of: {known}"
        raise UserError("a stage serves at least one model", path=root, hint=hint)
    plans = []
    for name in sorted(settings.models):
        model = catalog.model(name, f"{root}.{name}")
        stated = settings.models[name]
        for place, version in stated.named():
            catalog.version(parse_ref(version), f"{root}.{name}.{place}")
        route = hybrid.route(settings, catalog, name, f"{root}.{name}")
        planned = _model(model, stated, f"{root}.{name}")
        asked = rollouts.probes(planned, probes, f"{root}.{name}.rollout.probes")
        plans.append(replace(planned, route=route, probes=asked))
    return tuple(plans)


def _model(model: Model, stated: ModelSettings, path: str) -> ModelPlan:
    rollout = rollouts.rollout(stated.rollout, model.task, f"{path}.rollout") if stated.rollout else None
    weights = tuple((parse_ref(weight.version).number, weight.weight) for weight in stated.split or ())
    split = rollout.split() if rollout else Split(weights)
    return ModelPlan(model.name, model.task, model.default, model.versions, split, model.fallback, rollout)


def _secrets(settings: Settings) -> tuple[str, ...]:
    for name in settings.secrets:
        if name in NAMES:
            raise UserError(
                "the Worker has a binding of this name",
                path=f"{settings.source}: config.sluiceway:secrets",
                got=name,
                hint=f"give the secret another name; taken are {', '.join(sorted(NAMES))}",
            )
    return settings.secrets or STAGE_SECRETS


def _limits(settings: Settings) -> Limits:
    return Limits(
        body_bytes=pick(settings.limits.body_bytes, 1_048_576),
        requests=pick(settings.rate_limit.requests, 600),
        period=pick(settings.rate_limit.period, 60),
        max_tokens=pick(settings.limits.max_tokens, 32_768),
        tokens_per_minute=settings.limits.tokens_per_minute,
        cpu_ms=settings.limits.cpu_ms,
    )


def _cache(settings: Settings) -> Cache:
    stated = settings.cache
    return Cache(
        enabled=pick(stated.enabled, True),
        ttl=pick(stated.ttl, 300),
        sampled=pick(stated.sampled, False),
        coalesce_ms=pick(stated.coalesce_ms, 30_000),
        semantic=semantic(stated.semantic),
    )


def _observability(settings: Settings) -> Observability:
    stated = settings.observability
    return Observability(pick(stated.enabled, True), pick(stated.head_sampling_rate, 1.0), pick(stated.traces, False))


def _gateway(settings: Settings) -> GatewayPlan | None:
    stated = settings.gateway
    if not pick(stated.enabled, True):
        return None
    requests = pick(stated.requests, 0)
    return GatewayPlan(
        id=names.gateway(settings.stage),
        # The Worker's own cache belongs to a release; one more before it would answer for another.
        cache_ttl=pick(stated.cache_ttl, 0),
        cache_invalidate_on_update=True,
        # The gateway's log holds whole prompts, so it follows the setting that allows writing them down.
        collect_logs=pick(stated.collect_logs, pick(settings.log.prompts, False)),
        rate_limiting_interval=pick(stated.period, 60) if requests else 0,
        rate_limiting_limit=requests,
        rate_limiting_technique=pick(stated.technique, "fixed"),
        authentication=pick(stated.authentication, True),
        workers_ai_billing_mode=pick(stated.billing, "postpaid"),
    )
