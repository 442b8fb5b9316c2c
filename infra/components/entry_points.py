"""How requests and the clock reach the Worker: routes, custom domains, crons."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_cloudflare as cloudflare

from sluiceway.errors import UserError
from sluiceway.planning import Zone


@dataclass(frozen=True)
class EntryPointsArgs:
    """``routes`` are patterns in ``zone``; ``custom_domains`` are host names; ``crons`` are in Cloudflare's form."""

    account_id: str
    zone: Zone | None
    worker_name: pulumi.Input[str]
    routes: tuple[str, ...]
    custom_domains: tuple[str, ...]
    crons: tuple[str, ...]


class EntryPoints(pulumi.ComponentResource):
    """Made after the deployment, so that no request meets a Worker without code."""

    def __init__(self, name: str, args: EntryPointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:EntryPoints", name, None, opts)
        # Said again for each: a child does not take over what its component depends on.
        child = pulumi.ResourceOptions(parent=self, depends_on=opts.depends_on if opts else None)
        for pattern in args.routes:
            cloudflare.WorkersRoute(
                pattern, zone_id=_zone_id(args.zone, pattern), pattern=pattern, script=args.worker_name, opts=child
            )
        for hostname in args.custom_domains:
            cloudflare.WorkersCustomDomain(
                hostname,
                account_id=args.account_id,
                zone_id=_zone_id(args.zone, hostname),
                hostname=hostname,
                service=args.worker_name,
                opts=child,
            )
        # Declared even when there is none: deleting this resource leaves the old crons running,
        # only an empty list ends them.
        cloudflare.WorkersCronTrigger(
            "crons",
            account_id=args.account_id,
            script_name=args.worker_name,
            schedules=[{"cron": cron} for cron in args.crons],
            opts=child,
        )
        self.register_outputs({})


def _zone_id(zone: Zone | None, name: str) -> str:
    if zone is None:
        raise UserError("needs a zone and the stage has none", path=name, hint="set sluiceway:zone in the stack file")
    return zone.id
