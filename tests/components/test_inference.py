"""The Worker beside the gateway in which ONNX encoders run, on a stage that serves one."""

from __future__ import annotations

import base64
import hashlib
import shutil
from pathlib import Path

import pulumi
import pytest

from infra.program import declare
from sluiceway import catalog, settings
from sluiceway.planning import Ref, StagePlan, plan
from sluiceway.render import RenderedStage, render_stage, wrangler_document
from tests.components.conftest import WORKSPACE, Stages, linked_checkout
from tests.components.harness import Run, run_program
from tests.components.running import CANARY

EMBEDDER = WORKSPACE.root / "tests" / "contract" / "embedder"
ACCOUNT = "0123456789abcdef0123456789abcdef"


def _words(files: Path) -> str:
    lines = ["task: embed", "versions:", "  - version: words@1", "    backend: onnx", "    files:"]
    for path in sorted(files.iterdir()):
        content = path.read_bytes()
        lines += [f"      - name: {path.name}", f"        path: artifacts/words/1/{path.name}"]
        lines += [f"        sha256: {hashlib.sha256(content).hexdigest()}", f"        bytes: {len(content)}"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[StagePlan, RenderedStage]:
    """A stage that serves words@1, the tiny encoder of the contract."""
    checkout = linked_checkout(tmp_path_factory.mktemp("checkout"))
    artifacts = checkout.root / "models" / "artifacts" / "words" / "1"
    artifacts.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(EMBEDDER / name, artifacts / name)
    (checkout.root / "models" / "words.yaml").write_text(_words(artifacts), encoding="utf-8")
    stated = {"account_id": ACCOUNT, "models": {"words": {"split": [{"version": "words@1", "weight": 100}]}}}
    made = plan(settings.parse(stated, "here", stage="dev"), catalog.load(checkout))
    return made, render_stage(made, checkout)


@pytest.fixture(scope="module")
def run(served: tuple[StagePlan, RenderedStage]) -> Run:
    made, rendered = served

    def program() -> None:
        declare(made, rendered, {name: pulumi.Output.secret(CANARY) for name in made.secrets})

    return run_program(program, made.stage, False)


def test_the_gateway_is_bound_to_a_worker_that_nobody_else_reaches(run: Run) -> None:
    worker, gateway = run.named("inference-worker"), run.named("version")
    assert worker.inputs["name"] == "sluiceway-dev-inference"
    assert worker.inputs["subdomain"] == {"enabled": False, "previewsEnabled": False}
    bindings = gateway.inputs["bindings"].value
    (bound,) = [one for one in bindings if one["name"] == "INFERENCE"]
    assert bound == {"name": "INFERENCE", "type": "service", "service": "sluiceway-dev-inference"}
    assert run.named("inference-deployment").urn in gateway.dependencies


def test_it_reads_the_bucket_of_the_stage_and_gets_onnxruntime_as_compiled_wasm(
    run: Run, served: tuple[StagePlan, RenderedStage]
) -> None:
    made, rendered = served
    version = run.named("inference-version")
    assert version.inputs["bindings"] == [{"name": "MODELS", "type": "r2_bucket", "bucketName": made.bucket.name}]
    kinds = {module["name"]: module["contentType"] for module in version.inputs["modules"]}
    assert kinds == {"index.js": "application/javascript+module", "ort-wasm-simd-threaded.wasm": "application/wasm"}
    assert rendered.inference is not None
    sent = [base64.b64decode(module["contentBase64"]) for module in version.inputs["modules"]]
    assert sent == [module.content for module in rendered.inference.modules]
    assert b'from"./ort-wasm-simd-threaded.wasm"' in sent[0].replace(b" ", b"")


def test_its_size_is_told_where_only_some_accounts_may_upload_it(served: tuple[StagePlan, RenderedStage]) -> None:
    (note,) = served[1].notes
    assert note.startswith("inference: the Worker is ")


def test_wrangler_toml_names_the_binding(served: tuple[StagePlan, RenderedStage]) -> None:
    made, _ = served
    known = {Ref("kv", "id"): "k", Ref("bucket", "name"): "b", Ref("queue", "name"): "q"}
    assert wrangler_document(made, known)["services"] == [
        {"binding": "INFERENCE", "service": "sluiceway-dev-inference"}
    ]


def test_a_stage_without_an_encoder_has_no_such_worker_and_carries_no_wasm(stages: Stages) -> None:
    made, rendered = stages.plan("local"), stages.render("local")
    assert made.inference is None and rendered.inference is None
    assert "INFERENCE" not in {binding.name for binding in made.bindings}
    assert not any(module.name.endswith(".wasm") for module in rendered.modules)
