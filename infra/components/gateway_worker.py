"""The gateway Worker of a stage: the shell, one immutable worker version, its deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_cloudflare as cloudflare

from infra.components.worker_parts import binding, module, observability
from sluiceway.planning import Binding, Export, Observability, Ref
from sluiceway.render import Module


@dataclass(frozen=True)
class GatewayWorkerArgs:
    """``values`` gives what each `Ref` in ``bindings`` stands for; secrets come as secret Outputs.

    ``modules`` are what is uploaded, main module first. ``cpu_ms`` is in milliseconds. ``ramped``: what serves stays,
    and a new version is uploaded only. ``uploading`` and ``deploying`` are called before either is done.
    """

    account_id: str
    worker_name: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    modules: tuple[Module, ...]
    release: str
    bindings: tuple[Binding, ...]
    values: Mapping[Ref, pulumi.Input[str]]
    exports: tuple[Export, ...]
    workers_dev: bool
    previews: bool
    observability: Observability
    cpu_ms: int | None
    ramped: bool = False
    uploading: pulumi.ResourceHook | None = None
    deploying: pulumi.ResourceHook | None = None


class GatewayWorker(pulumi.ComponentResource):
    """``workers_dev_url`` is None where the account has no workers.dev name."""

    worker_name: pulumi.Output[str]
    version_id: pulumi.Output[str]
    deployment_id: pulumi.Output[str]
    workers_dev_url: pulumi.Output[str | None]

    def __init__(self, name: str, args: GatewayWorkerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:GatewayWorker", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        worker = cloudflare.Worker(
            "worker",
            account_id=args.account_id,
            name=args.worker_name,
            subdomain={"enabled": args.workers_dev, "previews_enabled": args.previews},
            observability=observability(args.observability),
            opts=child,
        )
        # Said again for the version: a child does not take over what its component depends on.
        after = pulumi.ResourceOptions(
            parent=self, depends_on=opts.depends_on if opts else None, hooks=_before(args.uploading)
        )
        version = _worker_version(args, worker, after)
        # The deployment is an event: a new version makes a new one, and deleting it does nothing.
        deployment = cloudflare.WorkersDeployment(
            "deployment",
            account_id=args.account_id,
            script_name=worker.name,
            strategy="percentage",
            versions=[{"version_id": version.id, "percentage": 100}],
            opts=pulumi.ResourceOptions(
                parent=self,
                hooks=_before(args.deploying),
                # The first one is made all the same; from then on `sluiceway release ramp` makes them.
                ignore_changes=["versions"] if args.ramped else None,
            ),
        )
        self.worker_name = worker.name
        self.version_id = version.id
        self.deployment_id = deployment.id
        # Bound to the id: in a preview of a new Worker the name of its host is as unknown as that.
        self.workers_dev_url = worker.id.apply(lambda _: worker.subdomain).apply(
            lambda subdomain: subdomain.url if subdomain else None
        )
        self.register_outputs({"version_id": self.version_id, "deployment_id": self.deployment_id})


def _before(hook: pulumi.ResourceHook | None) -> pulumi.ResourceHookBinding | None:
    return pulumi.ResourceHookBinding(before_create=[hook]) if hook else None


def _worker_version(
    args: GatewayWorkerArgs, worker: cloudflare.Worker, opts: pulumi.ResourceOptions
) -> cloudflare.WorkerVersion:
    return cloudflare.WorkerVersion(
        "version",
        account_id=args.account_id,
        worker_id=worker.id,
        main_module=args.modules[0].name,
        modules=[module(one) for one in args.modules],
        compatibility_date=args.compatibility_date,
        compatibility_flags=list(args.compatibility_flags),
        bindings=[binding(one, args.values) for one in args.bindings],
        exports={export.name: {"type": export.type, "storage": export.storage} for export in args.exports},
        limits=None if args.cpu_ms is None else {"cpu_ms": args.cpu_ms},
        annotations={"workers_tag": args.release},
        opts=opts,
    )
