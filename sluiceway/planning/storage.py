"""What a stage keeps: key-value, objects, events."""

from __future__ import annotations

from sluiceway.domain.release import canonical
from sluiceway.domain.stage import LOCAL
from sluiceway.planning import bindings, names
from sluiceway.planning.parts import (
    ArtifactPlan,
    BucketPlan,
    InferencePlan,
    KvEntry,
    LifecycleRule,
    ModelPlan,
    QueuePlan,
)
from sluiceway.planning.pick import pick
from sluiceway.settings.model import DAY, Settings


def bucket(settings: Settings) -> BucketPlan:
    stated = settings.bucket
    days = pick(stated.abort_multipart_days, 7)
    rule = LifecycleRule(id="abort-unfinished-uploads", enabled=True, prefix="", abort_multipart_after=days * DAY)
    return BucketPlan(
        name=names.bucket(settings.stage),
        location=stated.location,
        jurisdiction=pick(stated.jurisdiction, "default"),
        retain=pick(stated.retain, settings.stage != LOCAL),
        lifecycle=(rule,),
    )


def queue(settings: Settings) -> QueuePlan:
    return QueuePlan(
        name=names.queue(settings.stage),
        message_retention_period=pick(settings.queue.retention, 4 * DAY),
        delivery_delay=pick(settings.queue.delivery_delay, 0),
    )


def kv_entries(settings: Settings, worker_name: str) -> tuple[KvEntry, ...]:
    """One entry that says whose namespace this is, for the person who looks into it."""
    return (KvEntry("sluiceway/stage", canonical({"stage": settings.stage, "worker": worker_name})),)


def artifacts(models: tuple[ModelPlan, ...]) -> tuple[ArtifactPlan, ...]:
    """Every file of every version of the served models."""
    return tuple(
        ArtifactPlan(
            model=version.model,
            version=version.number,
            name=file.name,
            source_path=file.path,
            key=names.artifact_key(version.model, version.number, file.sha256, file.name),
            sha256=file.sha256,
            bytes=file.bytes,
            content_type="application/json" if file.name.endswith(".json") else "application/octet-stream",
        )
        for model in models
        for version in model.versions
        for file in version.files
    )


def inference(stage: str, models: tuple[ModelPlan, ...], bucket: BucketPlan) -> InferencePlan | None:
    """The inference Worker, where a served model embeds by an ONNX version; it reads the same bucket."""
    if not any(model.task == "embed" and _is_onnx(model) for model in models):
        return None
    return InferencePlan(names.inference(stage), (bindings.models(bucket),))


def _is_onnx(model: ModelPlan) -> bool:
    return any(version.backend == "onnx" for version in model.versions)
