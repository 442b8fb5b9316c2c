"""What a stage stores: the cache (KV), the model files' bucket (R2) and its clean-up rules."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_cloudflare as cloudflare

from sluiceway.planning import BucketPlan, KvEntry, KvPlan, LifecycleRule


@dataclass(frozen=True)
class StorageArgs:
    """``entries`` are written into the namespace of ``kv``."""

    account_id: str
    kv: KvPlan
    entries: tuple[KvEntry, ...]
    bucket: BucketPlan


class Storage(pulumi.ComponentResource):
    """``kv_namespace_id`` and ``bucket_name`` are known once the resources exist."""

    kv_namespace_id: pulumi.Output[str]
    bucket_name: pulumi.Output[str]

    def __init__(self, name: str, args: StorageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:Storage", name, None, opts)
        namespace = cloudflare.WorkersKvNamespace(
            "cache",
            account_id=args.account_id,
            title=args.kv.title,
            opts=pulumi.ResourceOptions(parent=self),
        )
        for entry in args.entries:
            cloudflare.WorkersKv(
                entry.key,
                account_id=args.account_id,
                namespace_id=namespace.id,
                key_name=entry.key,
                value=entry.value,
                opts=pulumi.ResourceOptions(parent=namespace),
            )
        bucket = self._bucket(args)
        self.kv_namespace_id = namespace.id
        self.bucket_name = bucket.name
        self.register_outputs({"kv_namespace_id": self.kv_namespace_id, "bucket_name": self.bucket_name})

    def _bucket(self, args: StorageArgs) -> cloudflare.R2Bucket:
        plan = args.bucket
        bucket = cloudflare.R2Bucket(
            "models",
            account_id=args.account_id,
            name=plan.name,
            location=plan.location,
            jurisdiction=plan.jurisdiction,
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=plan.retain),
        )
        if plan.lifecycle:
            cloudflare.R2BucketLifecycle(
                "models-lifecycle",
                account_id=args.account_id,
                bucket_name=bucket.name,
                jurisdiction=plan.jurisdiction,
                rules=[_rule(rule) for rule in plan.lifecycle],
                opts=pulumi.ResourceOptions(parent=bucket),
            )
        return bucket


def _rule(rule: LifecycleRule) -> dict[str, object]:
    document: dict[str, object] = {
        "id": rule.id,
        "enabled": rule.enabled,
        "conditions": {"prefix": rule.prefix},
    }
    if rule.abort_multipart_after is not None:
        document["abort_multipart_uploads_transition"] = _after(rule.abort_multipart_after)
    if rule.delete_after is not None:
        document["delete_objects_transition"] = _after(rule.delete_after)
    return document


def _after(seconds: int) -> dict[str, object]:
    return {"condition": {"type": "Age", "max_age": seconds}}
