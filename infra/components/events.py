"""The queue into which the Worker puts its events."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_cloudflare as cloudflare

from sluiceway.planning import QueuePlan


@dataclass(frozen=True)
class EventsArgs:
    account_id: str
    queue: QueuePlan


class Events(pulumi.ComponentResource):
    """``queue_name`` is what a binding names."""

    queue_name: pulumi.Output[str]

    def __init__(self, name: str, args: EventsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:Events", name, None, opts)
        queue = cloudflare.Queue(
            "events",
            account_id=args.account_id,
            queue_name=args.queue.name,
            settings={
                "message_retention_period": args.queue.message_retention_period,
                "delivery_delay": args.queue.delivery_delay,
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.queue_name = queue.queue_name
        self.register_outputs({"queue_name": self.queue_name})
