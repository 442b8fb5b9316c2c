"""wrangler reads the rendered file and sees the Worker that the Pulumi program declares."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from sluiceway.errors import SluicewayError
from sluiceway.planning import Ref, StagePlan
from sluiceway.render import templates_of, write_wrangler
from sluiceway.render.wrangler import wrangler_document
from tests.components.conftest import STAGES, WORKSPACE, Stages
from tests.components.harness import Run
from tests.components.running import bindings_of, run_stage
from tests.node import NODE

WRANGLER = WORKSPACE.node_modules / "wrangler" / "bin" / "wrangler.js"
NAMESPACE = "0123456789abcdef0123456789abcdef"

# What `wrangler deploy --dry-run` calls the types of Cloudflare's API.
_WORDS = {
    "ai": "AI",
    "analytics_engine": "Analytics Engine Dataset",
    "durable_object_namespace": "Durable Object",
    "kv_namespace": "KV Namespace",
    "queue": "Queue",
    "r2_bucket": "R2 Bucket",
    "ratelimit": "Rate Limit",
    "version_metadata": "Worker Version Metadata",
}


def resolved(plan: StagePlan) -> dict[Ref, str]:
    queue = plan.queue.name if plan.queue else ""
    return {Ref("kv", "id"): NAMESPACE, Ref("bucket", "name"): plan.bucket.name, Ref("queue", "name"): queue}


def declared(run: Run) -> set[tuple[str, str, str]]:
    """Name, type in wrangler's words and what is bound, of each binding of the WorkerVersion but secrets."""
    bindings = [binding for binding in bindings_of(run) if binding["type"] != "secret_text"]
    return {(str(binding["name"]), _WORDS[str(binding["type"])], detail(binding)) for binding in bindings}


def detail(binding: Mapping[str, object]) -> str:
    if binding["type"] == "ratelimit":
        simple = binding["simple"]
        assert isinstance(simple, dict)
        return f"{simple['limit']:.0f} requests/{simple['period']:.0f}s"
    bound = [
        binding[key] for key in ("namespaceId", "bucketName", "queueName", "dataset", "className") if key in binding
    ]
    return "".join(str(value) for value in bound)


def dry_run(folder: Path, home: Path) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "WRANGLER_SEND_METRICS": "false",
        "CI": "1",
        "NO_COLOR": "1",
    }
    command: list[str | Path] = [
        NODE,
        WRANGLER,
        "deploy",
        "--dry-run",
        "--outdir",
        home / "out",
        "--config",
        folder / "wrangler.toml",
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    told = str(done.stdout) + str(done.stderr)
    assert "WARNING" not in told, told
    return told


# A stage has what production has, or less; the lists of every stage are compared below without a start of wrangler.
@pytest.mark.parametrize("stage", [pytest.param("local", marks=pytest.mark.long), "production"])
def test_wrangler_sees_the_bindings_that_pulumi_declares(stages: Stages, stage: str, tmp_path: Path) -> None:
    folder = stages.render(stage).out_dir
    run = run_stage(stages, stages.plan(stage))
    assert run.outputs["wrangler_toml"] == str((folder / "wrangler.toml").relative_to(stages.checkout.root))
    printed = dry_run(folder, tmp_path)
    rows = re.findall(r"^env\.(\w+)(?: \((.*?)\))?\s{2,}(\S.*?)\s*$", printed, re.MULTILINE)
    assert {(name, kind, what) for name, what, kind in rows} == declared(run)
    for name in ("index.js", "config.json"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / "dist" / name).read_bytes()


@pytest.mark.parametrize("stage", STAGES)
def test_wr_02_every_binding_of_a_stage_is_spelled_out_and_none_of_another(
    stages: Stages, stage: str, tmp_path: Path
) -> None:
    plan = stages.plan(stage)
    own = {**resolved(plan), Ref("kv", "id"): f"{stage}-kv"}
    text = write_wrangler(plan, own, templates_of(stages.checkout), tmp_path).read_text(encoding="utf-8")
    document = tomllib.loads(text)
    assert "env" not in document
    assert document == wrangler_document(plan, own)
    assert document["kv_namespaces"] == [{"binding": "CACHE", "id": f"{stage}-kv"}]
    bound = {binding.name for binding in plan.bindings}
    assert bound == set(re.findall(r'\b(?:binding|name) = "([A-Z_]+)"', text)) | set(plan.secrets)
    for other in STAGES:
        if other != stage:
            assert stages.plan(other).worker_name not in text
            assert stages.plan(other).bucket.name not in text


def test_wr_02_a_binding_without_its_id_is_refused(stages: Stages) -> None:
    plan = stages.plan("staging")
    known = {ref: value for ref, value in resolved(plan).items() if ref != Ref("kv", "id")}
    with pytest.raises(SluicewayError, match="the kv's id is not known") as caught:
        wrangler_document(plan, known)
    assert caught.value.path == "CACHE"


def test_secrets_are_named_and_their_values_are_not_asked_for(stages: Stages) -> None:
    plan = stages.plan("local")
    assert wrangler_document(plan, resolved(plan))["secrets"] == {"required": ["API_KEY", "ADMIN_KEY"]}
