"""Rate limits at the edge of a zone, in front of every Worker: one ruleset, since a zone has one
entry point for this phase."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_cloudflare as cloudflare

from sluiceway.planning import RateLimitRule, Zone


@dataclass(frozen=True)
class EdgeLimitsArgs:
    zone: Zone
    rules: tuple[RateLimitRule, ...]


class EdgeLimits(pulumi.ComponentResource):
    """``ruleset_id`` is the zone's rate-limiting ruleset."""

    ruleset_id: pulumi.Output[str]

    def __init__(self, name: str, args: EdgeLimitsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:EdgeLimits", name, None, opts)
        ruleset = cloudflare.Ruleset(
            "rate-limits",
            zone_id=args.zone.id,
            kind="zone",
            phase="http_ratelimit",
            name="sluiceway rate limits",
            rules=[_rule(rule) for rule in args.rules],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.ruleset_id = ruleset.id
        self.register_outputs({"ruleset_id": self.ruleset_id})


def _rule(rule: RateLimitRule) -> dict[str, object]:
    return {
        "ref": rule.ref,
        "description": rule.description,
        "expression": rule.expression,
        "action": rule.action,
        "enabled": rule.enabled,
        "ratelimit": {
            "characteristics": list(rule.characteristics),
            "period": rule.period,
            "requests_per_period": rule.requests_per_period,
            "mitigation_timeout": rule.mitigation_timeout,
        },
    }
