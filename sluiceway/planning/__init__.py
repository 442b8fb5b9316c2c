"""settings + catalog -> StagePlan: the one place where defaults are decided. Pure: no file, clock or network."""

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
    LifecycleRule,
    Limits,
    Log,
    ModelPlan,
    Observability,
    QueuePlan,
    RateLimitRule,
    Ref,
    Zone,
)
from sluiceway.planning.plan import plan
from sluiceway.planning.policy_parts import Auth, Policies
from sluiceway.planning.stage_plan import StagePlan

__all__ = [
    "ArtifactPlan",
    "Auth",
    "Binding",
    "BucketPlan",
    "Cache",
    "Cors",
    "Export",
    "GatewayPlan",
    "InferencePlan",
    "KvEntry",
    "KvPlan",
    "LifecycleRule",
    "Limits",
    "Log",
    "ModelPlan",
    "Observability",
    "Policies",
    "QueuePlan",
    "RateLimitRule",
    "Ref",
    "StagePlan",
    "Zone",
    "plan",
]
