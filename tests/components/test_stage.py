"""What the program declares for a stage, seen as the engine sees it."""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from infra.components.release_record import KEY as RELEASE_KEY
from sluiceway.errors import UserError
from sluiceway.planning import Zone
from tests.components.conftest import STAGES, WORKSPACE, Stages
from tests.components.harness import UNKNOWN
from tests.components.running import CANARY, bindings_of, run_stage
from tests.contract.make_rollout import planned


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_declares_a_worker_its_version_and_its_deployment(stages: Stages, stage: str) -> None:
    plan = stages.plan(stage)
    run = run_stage(stages, plan)
    version, deployment = run.one("WorkerVersion"), run.one("WorkersDeployment")
    assert run.one("Worker").inputs["name"] == plan.worker_name
    assert deployment.inputs["versions"] == [{"versionId": "id-version", "percentage": 100}]
    assert version.urn in deployment.dependencies
    assert version.inputs["annotations"] == {"workersTag": stages.render(stage).release}
    kept = {"type": "durable-object", "storage": "sqlite"}
    assert version.inputs["exports"] == dict.fromkeys(("Conversation", "KeyRing", "Ledger", "RolloutController"), kept)
    assert "migrations" not in version.inputs


def test_tf_01_bindings_are_sent_in_the_order_of_their_names(stages: Stages) -> None:
    names = [binding["name"] for binding in bindings_of(run_stage(stages, stages.plan("local")))]
    assert names == sorted(str(name) for name in names)
    known = {"ADMIN_KEY", "AI", "API_KEY", "CACHE", "MODELS", "RATE_LIMIT", "ROLLOUTS", "METRICS", "VERSION"}
    assert known <= set(names)


def test_bindings_name_the_resources_that_were_made(stages: Stages) -> None:
    plan = stages.plan("local")
    by_name = {str(binding["name"]): binding for binding in bindings_of(run_stage(stages, plan))}
    assert by_name["CACHE"] == {"name": "CACHE", "type": "kv_namespace", "namespaceId": "id-cache"}
    assert by_name["MODELS"]["bucketName"] == plan.bucket.name
    assert by_name["RATE_LIMIT"]["simple"] == {"limit": plan.limits.requests, "period": plan.limits.period}
    assert by_name["ROLLOUTS"]["className"] == "RolloutController"


def test_the_modules_sent_are_the_rendered_files(stages: Stages) -> None:
    rendered = stages.render("local")
    modules = run_stage(stages, stages.plan("local")).one("WorkerVersion").inputs["modules"]
    sent = {module["name"]: base64.b64decode(module["contentBase64"]) for module in modules}
    assert sent == {name: (rendered.out_dir / "dist" / name).read_bytes() for name in ("index.js", "config.json")}


def test_pu_07_a_secret_is_in_no_input_output_or_file_unmarked(stages: Stages, tmp_path: Path) -> None:
    run = run_stage(stages, stages.plan("local"), out_dir=tmp_path)
    keys = [binding for binding in bindings_of(run) if binding["type"] == "secret_text"]
    assert keys == [{"name": name, "type": "secret_text", "text": CANARY} for name in ("ADMIN_KEY", "API_KEY")]
    rest = [resource for resource in run.resources if resource.type.rsplit(":", 1)[-1] != "WorkerVersion"]
    encoded = base64.b64encode(CANARY.encode()).decode()
    for told in (repr(rest), repr(run.outputs), (tmp_path / "wrangler.toml").read_text(encoding="utf-8")):
        assert CANARY not in told
        assert encoded not in told


def test_pu_02_a_preview_of_an_empty_stack_shows_unknown_ids_and_writes_no_wrangler_toml(
    stages: Stages, tmp_path: Path
) -> None:
    run = run_stage(stages, stages.plan("local"), preview=True, out_dir=tmp_path)
    for name in ("worker_version_id", "deployment_id", "kv_namespace_id", "wrangler_toml"):
        assert run.outputs[name] == UNKNOWN
    assert run.outputs["release"] == stages.render("local").release
    assert list(tmp_path.iterdir()) == []


def test_an_update_exports_what_a_person_needs(stages: Stages) -> None:
    plan = stages.plan("local")
    outputs = run_stage(stages, plan).outputs
    assert outputs["url"].startswith("http://127.0.0.1:")
    assert outputs["worker"] == plan.worker_name
    assert outputs["kv_namespace_id"] == "id-cache"
    assert outputs["bucket"] == plan.bucket.name
    assert outputs["models"]["chat"] == {"chat@1": 90, "chat@2": 10}


def test_a_declared_rollout_is_among_the_outputs_so_that_a_preview_shows_its_change(stages: Stages) -> None:
    plan = stages.plan("local")
    assert "rollouts" not in run_stage(stages, plan).outputs
    rollout = planned({"strategy": "canary", "stable": "chat@1", "candidate": "chat@2"}).models[0].rollout
    models = tuple(replace(model, rollout=rollout) if model.name == "chat" else model for model in plan.models)
    outputs = run_stage(stages, replace(plan, models=models)).outputs
    assert outputs["rollouts"] == ["chat: chat@1 -> chat@2 by canary 1, 10, 50, 100 %, at least 2 h"]


def test_the_curl_line_is_one_shell_command_that_reads_the_key_where_it_lies(stages: Stages) -> None:
    words = shlex.split(run_stage(stages, stages.plan("local")).outputs["curl"])
    assert words[0] == "curl"
    assert words[2].endswith("/v1/chat/completions")
    assert "authorization: Bearer $(cat .sluiceway/local/api-key)" in words
    assert json.loads(words[-1])["model"] == "chat"


def test_a_stage_without_a_host_of_its_own_is_told_by_its_workers_dev_url(stages: Stages) -> None:
    plan = replace(stages.plan("staging"), custom_domains=(), routes=())
    run = run_stage(stages, plan)
    assert run.outputs["url"] == f"https://{plan.worker_name}.example.workers.dev"
    assert "$SLUICEWAY_API_KEY" in run.outputs["curl"]


def test_a_stage_that_nothing_leads_to_tells_no_url(stages: Stages) -> None:
    plan = replace(stages.plan("staging"), custom_domains=(), routes=(), workers_dev=False)
    outputs = run_stage(stages, plan).outputs
    assert outputs.get("url") is None
    assert outputs.get("curl") is None


@pytest.mark.parametrize(
    ("domains", "routes", "url"),
    [
        (("chat.example.com",), ("api.example.com/*",), "https://chat.example.com"),
        ((), ("*.example.com/*", "api.example.com/v1/*"), "https://api.example.com"),
    ],
)
def test_a_stage_with_hosts_of_its_own_is_told_by_the_first(
    stages: Stages, domains: tuple[str, ...], routes: tuple[str, ...], url: str
) -> None:
    zone = Zone("example.com", "f" * 32)
    plan = replace(stages.plan("staging"), zone=zone, custom_domains=domains, routes=routes)
    assert run_stage(stages, plan).outputs["url"] == url


def test_limits_and_models_are_in_place_before_the_code_that_needs_them(stages: Stages) -> None:
    run = run_stage(stages, stages.plan("local"))
    before = {resource.urn for kind in ("Ruleset", "R2Object", "AiGateway") for resource in run.all(kind)}
    assert before and before <= run.one("WorkerVersion").dependencies
    for kind in ("WorkersRoute", "WorkersCustomDomain", "WorkersCronTrigger"):
        assert run.one("WorkersDeployment").urn in run.one(kind).dependencies


def test_a_zone_has_one_ruleset_with_every_rule(stages: Stages) -> None:
    plan = stages.plan("local")
    assert plan.zone is not None
    ruleset = run_stage(stages, plan).one("Ruleset").inputs
    assert (ruleset["zoneId"], ruleset["phase"], ruleset["kind"]) == (plan.zone.id, "http_ratelimit", "zone")
    assert [rule["expression"] for rule in ruleset["rules"]] == [rule.expression for rule in plan.rate_limit_rules]
    assert all("cf.colo.id" in rule["ratelimit"]["characteristics"] for rule in ruleset["rules"])


@pytest.mark.parametrize(("stage", "kept"), [("production", True), ("local", False)])
def test_only_production_keeps_its_bucket_when_it_is_destroyed(stages: Stages, stage: str, kept: bool) -> None:
    run = run_stage(stages, stages.plan(stage))
    assert {resource.retained for kind in ("R2Bucket", "R2Object") for resource in run.all(kind)} == {kept}


def test_artifacts_are_named_by_digest_and_found_from_the_checkout(stages: Stages) -> None:
    plan = stages.plan("local")
    objects = run_stage(stages, plan).all("R2Object")
    assert {(o.inputs["key"], o.inputs["source"], o.inputs["sha256"]) for o in objects} == {
        (file.key, file.source_path, file.sha256) for file in plan.artifacts
    }
    assert objects
    assert all(o.inputs["sha256"] in o.inputs["key"] and not o.inputs["source"].startswith("/") for o in objects)


def test_a_stage_without_crons_still_declares_the_empty_list(stages: Stages) -> None:
    run = run_stage(stages, replace(stages.plan("local"), crons=()))
    assert run.one("WorkersCronTrigger").inputs["schedules"] == []


def test_a_route_without_a_zone_is_refused(stages: Stages) -> None:
    plan = replace(stages.plan("local"), zone=None, rate_limit_rules=(), custom_domains=())
    with pytest.raises(UserError, match="needs a zone"):
        run_stage(stages, plan)


def test_the_release_is_recorded_once_it_is_deployed(stages: Stages) -> None:
    run = run_stage(stages, stages.plan("local"))
    (record,) = [entry for entry in run.all("WorkersKv") if entry.inputs["keyName"] == RELEASE_KEY]
    assert json.loads(record.inputs["value"]) == {"release": stages.render("local").release, "stage": "local"}
    assert run.one("WorkersDeployment").urn in record.dependencies


def test_a_second_run_registers_the_same_inputs_without_a_path_of_this_machine(stages: Stages) -> None:
    plan = stages.plan("local")
    first, second = run_stage(stages, plan), run_stage(stages, plan)
    # The order in which they arrive is the scheduler's.
    assert {r.urn: r.inputs for r in first.resources} == {r.urn: r.inputs for r in second.resources}
    told = repr([resource.inputs for resource in first.resources])
    assert str(stages.checkout.root) not in told
    assert str(WORKSPACE.root) not in told
