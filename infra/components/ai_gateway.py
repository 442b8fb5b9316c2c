"""Cloudflare's AI Gateway of a stage: logs, limits and cache between the Worker and the models."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pulumi
import pulumi_cloudflare as cloudflare

from sluiceway.planning import GatewayPlan


@dataclass(frozen=True)
class AiGatewayArgs:
    account_id: str
    gateway: GatewayPlan


class AiGateway(pulumi.ComponentResource):
    """``gateway_id`` is the name by which the Worker asks for it."""

    gateway_id: pulumi.Output[str]

    def __init__(self, name: str, args: AiGatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:AiGateway", name, None, opts)
        settings = asdict(args.gateway)
        gateway = cloudflare.AiGateway(
            "gateway",
            account_id=args.account_id,
            ai_gateway_id=settings.pop("id"),
            **settings,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.gateway_id = gateway.ai_gateway_id
        self.register_outputs({"gateway_id": self.gateway_id})
