"""The files of the models that run in a Worker, in the bucket under keys that hold their sha256."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from infra.components.r2_object import R2Object, R2ObjectArgs
from sluiceway.planning import ArtifactPlan


@dataclass(frozen=True)
class ArtifactsArgs:
    account_id: str
    bucket: pulumi.Input[str]
    jurisdiction: str
    retain: bool
    files: tuple[ArtifactPlan, ...]


class Artifacts(pulumi.ComponentResource):
    """``objects`` are the uploaded files, in the order of ``files``."""

    objects: list[R2Object]

    def __init__(self, name: str, args: ArtifactsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:Artifacts", name, None, opts)
        self.objects = [
            R2Object(
                f"{file.model}@{file.version}/{file.name}",
                R2ObjectArgs(
                    account_id=args.account_id,
                    bucket=args.bucket,
                    jurisdiction=args.jurisdiction,
                    key=file.key,
                    source=file.source_path,
                    sha256=file.sha256,
                    bytes=file.bytes,
                    content_type=file.content_type,
                ),
                # A kept bucket keeps its objects: a release that is rolled back to may need them.
                pulumi.ResourceOptions(parent=self, retain_on_delete=args.retain),
            )
            for file in args.files
        ]
        self.register_outputs({})
