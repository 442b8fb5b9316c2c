"""The release that is live, where an operator or a script can read it: one key in the stage's KV namespace."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pulumi
import pulumi_cloudflare as cloudflare

KEY = "spec/release"


@dataclass(frozen=True)
class ReleaseRecordArgs:
    account_id: str
    namespace_id: pulumi.Input[str]
    stage: str
    release: str
    ramped: bool = False


class ReleaseRecord(pulumi.ComponentResource):
    """Written after the deployment: a release that could not be deployed is never recorded.

    Where releases are ramped, the ramp's end writes it.
    """

    def __init__(self, name: str, args: ReleaseRecordArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:ReleaseRecord", name, None, opts)
        cloudflare.WorkersKv(
            KEY,
            account_id=args.account_id,
            namespace_id=args.namespace_id,
            key_name=KEY,
            value=json.dumps({"release": args.release, "stage": args.stage}, sort_keys=True),
            # Said again: a child does not take over what its component depends on.
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=opts.depends_on if opts else None,
                ignore_changes=["value"] if args.ramped else None,
            ),
        )
        self.register_outputs({})
