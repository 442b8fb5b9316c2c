"""Declares one stage from its plan: which components there are, and what each gets from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from infra.components.ai_gateway import AiGateway, AiGatewayArgs
from infra.components.artifacts import Artifacts, ArtifactsArgs
from infra.components.edge_limits import EdgeLimits, EdgeLimitsArgs
from infra.components.entry_points import EntryPoints, EntryPointsArgs
from infra.components.events import Events, EventsArgs
from infra.components.gateway_worker import GatewayWorker, GatewayWorkerArgs
from infra.components.inference_worker import InferenceWorker, InferenceWorkerArgs
from infra.components.release_record import ReleaseRecord, ReleaseRecordArgs
from infra.components.storage import Storage, StorageArgs
from infra.release_guard import guard, hook
from sluiceway.planning import InferencePlan, Ref, StagePlan
from sluiceway.render import RenderedInference, RenderedStage


@dataclass(frozen=True)
class DeclaredStage:
    """The resources of a stage; ``values`` is what each `Ref` of the plan stands for, secrets included."""

    storage: Storage
    worker: GatewayWorker
    values: Mapping[Ref, pulumi.Input[str]]


def declare(plan: StagePlan, rendered: RenderedStage, secrets: Mapping[str, pulumi.Output[str]]) -> DeclaredStage:
    """Registers every resource of ``plan``. ``secrets`` holds one secret Output for each of ``plan.secrets``."""
    storage = Storage("storage", StorageArgs(plan.account_id, plan.kv, plan.kv_entries, plan.bucket))
    values: dict[Ref, pulumi.Input[str]] = {
        Ref("kv", "id"): storage.kv_namespace_id,
        Ref("bucket", "name"): storage.bucket_name,
        **{Ref("secret", name): value for name, value in secrets.items()},
    }
    before: list[pulumi.Resource] = []
    if plan.artifacts:
        args = ArtifactsArgs(
            plan.account_id, storage.bucket_name, plan.bucket.jurisdiction, plan.bucket.retain, plan.artifacts
        )
        before.append(Artifacts("artifacts", args))
    if plan.gateway is not None:
        before.append(AiGateway("ai-gateway", AiGatewayArgs(plan.account_id, plan.gateway)))
    if plan.queue is not None:
        events = Events("events", EventsArgs(plan.account_id, plan.queue))
        values[Ref("queue", "name")] = events.queue_name
    # A limit must stand before the first request can come through a route.
    if plan.zone is not None and plan.rate_limit_rules:
        before.append(EdgeLimits("edge-limits", EdgeLimitsArgs(plan.zone, plan.rate_limit_rules)))
    if plan.inference is not None and rendered.inference is not None:
        before.append(InferenceWorker("inference", _inference_args(plan, plan.inference, rendered.inference, values)))
    worker = GatewayWorker("gateway", _worker_args(plan, rendered, values), pulumi.ResourceOptions(depends_on=before))
    after = pulumi.ResourceOptions(depends_on=[worker])
    EntryPoints(
        "entry-points",
        EntryPointsArgs(plan.account_id, plan.zone, worker.worker_name, plan.routes, plan.custom_domains, plan.crons),
        after,
    )
    record = ReleaseRecordArgs(
        plan.account_id, storage.kv_namespace_id, plan.stage, rendered.release, plan.release.ramped
    )
    ReleaseRecord("release-record", record, after)
    return DeclaredStage(storage, worker, values)


def _inference_args(
    plan: StagePlan, inference: InferencePlan, rendered: RenderedInference, values: Mapping[Ref, pulumi.Input[str]]
) -> InferenceWorkerArgs:
    return InferenceWorkerArgs(
        plan.account_id, inference, rendered, values, plan.compatibility_date, plan.observability
    )


def _worker_args(
    plan: StagePlan, rendered: RenderedStage, values: Mapping[Ref, pulumi.Input[str]]
) -> GatewayWorkerArgs:
    watch = guard(plan)
    return GatewayWorkerArgs(
        account_id=plan.account_id,
        worker_name=plan.worker_name,
        compatibility_date=plan.compatibility_date,
        compatibility_flags=plan.compatibility_flags,
        modules=rendered.modules,
        release=rendered.release,
        bindings=plan.bindings,
        values=values,
        exports=plan.exports,
        workers_dev=plan.workers_dev,
        previews=plan.previews,
        observability=plan.observability,
        cpu_ms=plan.limits.cpu_ms,
        ramped=plan.release.ramped,
        uploading=hook("before-upload", watch.uploading),
        deploying=hook("before-deployment", watch.deploying),
    )
