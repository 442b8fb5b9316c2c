"""What a stack tells: the URL, a curl line that works as printed, ids, the release and the models."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import pulumi

from infra.faults import faults_told
from infra.program import DeclaredStage
from sluiceway.domain.stage import LOCAL
from sluiceway.planning import Ref, StagePlan
from sluiceway.render import RenderedStage, templates_of, write_wrangler
from sluiceway.workspace import Workspace


def export_stage(plan: StagePlan, rendered: RenderedStage, declared: DeclaredStage, workspace: Workspace) -> None:
    """Exports the stack's outputs; writes wrangler.toml once every id in it is known."""
    url = stage_url(plan, declared)
    model = next((model.name for model in plan.models if model.default), plan.models[0].name)
    outputs: dict[str, pulumi.Input[object]] = {
        "url": url,
        "curl": url.apply(lambda known: curl_line(plan, known, model) if known else None),
        "worker": declared.worker.worker_name,
        "worker_version_id": declared.worker.version_id,
        "deployment_id": declared.worker.deployment_id,
        "kv_namespace_id": declared.storage.kv_namespace_id,
        "bucket": declared.storage.bucket_name,
        "release": rendered.release,
        "models": {
            model.name: {f"{model.name}@{version}": weight for version, weight in model.split.weights}
            for model in plan.models
        },
        "wrangler_toml": _wrangler_toml(plan, rendered, declared, workspace),
    }
    if rollouts := plan.rollout_sentences():
        outputs["rollouts"] = list(rollouts)
    for name, value in outputs.items():
        pulumi.export(name, value)


def stage_url(plan: StagePlan, declared: DeclaredStage) -> pulumi.Output[str | None]:
    """Where the stage answers: a custom domain, else a route's host, else workers.dev; loopback for local.

    None for a stage that nothing leads to.
    """
    if plan.stage == LOCAL:
        return pulumi.Output.from_input(os.environ.get("SLUICEWAY_LOCAL_URL", "http://127.0.0.1:8787"))
    hosts = [*plan.custom_domains, *(pattern.split("/")[0] for pattern in plan.routes if not pattern.startswith("*"))]
    if hosts:
        return pulumi.Output.from_input(f"https://{hosts[0]}")
    # Cloudflare tells the name also where it is switched off.
    return declared.worker.workers_dev_url if plan.workers_dev else pulumi.Output.from_input(None)


def curl_line(plan: StagePlan, url: str, model: str) -> str:
    """One line for a shell in the checkout; the key is read where it lies and never printed."""
    key = "$(cat .sluiceway/local/api-key)" if plan.stage == LOCAL else "$SLUICEWAY_API_KEY"
    auth = f'-H "authorization: Bearer {key}" ' if plan.auth.required else ""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}]}, separators=(",", ":"))
    return f"curl -sS {url}/v1/chat/completions {auth}-H 'content-type: application/json' -d '{body}'"


def _wrangler_toml(
    plan: StagePlan, rendered: RenderedStage, declared: DeclaredStage, workspace: Workspace
) -> pulumi.Output[str]:
    known = {ref: value for ref, value in declared.values.items() if ref.resource != "secret"}
    names = list(known)

    def write(values: list[str]) -> str:
        resolved: Mapping[Ref, str] = dict(zip(names, values, strict=True))
        if not pulumi.runtime.is_dry_run():
            with faults_told():
                write_wrangler(plan, resolved, templates_of(workspace), rendered.out_dir)
        return f".sluiceway/build/{plan.stage}/wrangler.toml"

    return pulumi.Output.all(*known.values()).apply(write)
