"""The Worker in which ONNX encoders run: reached by the gateway's service binding, and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_cloudflare as cloudflare

from infra.components.worker_parts import binding, module, observability
from sluiceway.planning import InferencePlan, Observability, Ref
from sluiceway.render import RenderedInference


@dataclass(frozen=True)
class InferenceWorkerArgs:
    """``values`` gives what each `Ref` of the plan's bindings stands for."""

    account_id: str
    plan: InferencePlan
    rendered: RenderedInference
    values: Mapping[Ref, pulumi.Input[str]]
    compatibility_date: str
    observability: Observability


class InferenceWorker(pulumi.ComponentResource):
    """A new version serves at once: it holds no state, and a model is known by its digest whatever the code."""

    worker_name: pulumi.Output[str]

    def __init__(self, name: str, args: InferenceWorkerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("sluiceway:infra:InferenceWorker", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        worker = cloudflare.Worker(
            "inference-worker",
            account_id=args.account_id,
            name=args.plan.worker_name,
            subdomain={"enabled": False, "previews_enabled": False},
            observability=observability(args.observability),
            opts=child,
        )
        version = cloudflare.WorkerVersion(
            "inference-version",
            account_id=args.account_id,
            worker_id=worker.id,
            main_module=args.rendered.modules[0].name,
            modules=[module(one) for one in args.rendered.modules],
            compatibility_date=args.compatibility_date,
            bindings=[binding(one, args.values) for one in args.plan.bindings],
            annotations={"workers_tag": args.rendered.digest[:12]},
            opts=child,
        )
        deployment = cloudflare.WorkersDeployment(
            "inference-deployment",
            account_id=args.account_id,
            script_name=worker.name,
            strategy="percentage",
            versions=[{"version_id": version.id, "percentage": 100}],
            opts=child,
        )
        # Known once it serves: a binding to a Worker without a deployment answers nobody.
        self.worker_name = pulumi.Output.all(worker.name, deployment.id).apply(lambda known: str(known[0]))
        self.register_outputs({"worker_name": self.worker_name})
