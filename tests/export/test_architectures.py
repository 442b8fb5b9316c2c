"""Tiny models of architectures that torch exports: from weights to a package that verifies, by the command."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sluiceway.pipeline.package import verify
from sluiceway.pipeline.runner.spawn import Job, run
from tests.export.checkout import build, make, python, report
from tests.export.shelf import there_and_back

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

EIGHT = [{"kind": "fold"}, {"kind": "int8-weights"}]
FOUR = [{"kind": "fold"}, {"kind": "int4-weights", "block": 32}]
GROUPED, LATENT = [["batch", 2, "past", 16]] * 2, [["batch", 1, "past", 32], ["batch", 1, "past", 8]]
NEAR = 1e-5
"""Two layers in float32: what two orders of summing may differ by, as a share of the largest number."""


def nearness(compared: dict[str, Any]) -> float:
    return max(float(case["share"]) for case in compared["cases"])


def export(**more: object) -> dict[str, object]:
    return {"kind": "causal-lm", "tool": "auto", **more}


@pytest.mark.parametrize(
    ("name", "settings", "passes", "cache"),
    [
        ("llama", export(tool="torch"), EIGHT, GROUPED),
        ("qwen3", export(), FOUR, GROUPED),
        ("glm4", export(opset=23), EIGHT, GROUPED),
        ("glm4-moe", export(), EIGHT, GROUPED),
        ("glm4-moe-lite", export(), EIGHT, LATENT),
        ("kimi-k2", export(), EIGHT, LATENT),
    ],
)
def test_ox_01_a_decoder_goes_from_weights_to_a_package_that_is_published_and_verifies(
    r2_client: S3Client, tmp_path: Path, name: str, settings: dict[str, object], passes: list[Any], cache: list[Any]
) -> None:
    limits = {"data": "tiny.jsonl", "max_kl": 0.5 if passes is FOUR else 0.05, "rounds": 1}
    source = make(tmp_path, name, task="chat", export=settings, passes=passes, validate=limits)
    told = build(tmp_path)
    compared = report(told, "export")["torch"]["compared"]
    assert len(compared["cases"]) == 7
    assert nearness(compared) < NEAR
    quantised = report(told, passes[-1]["kind"])["pass"]
    assert 10 <= quantised["weights_changed"] == quantised["weights_asked"]
    figures = report(told, "validate")["figures"]
    assert 0 <= figures["cached_kl"] < 1e-6, "two calls with the cache between answer as one without"
    assert 0 <= figures["padded_kl"] < 1e-6
    graph = there_and_back(r2_client, name, Path(told["package"]), tmp_path / "pulled").graph
    ports = {port.name: [*(port.dims or ())] for port in graph.inputs}
    for layer in range(2):
        assert [ports[f"past_key_values.{layer}.{kind}"] for kind in ("key", "value")] == cache
    assert [port.name for port in graph.outputs][:3] == ["logits", "present.0.key", "present.0.value"]
    assert graph.opsets[""] == settings.get("opset", 21)
    if name == "kimi-k2":
        held_to_the_same_bytes(tmp_path, source, told)


def held_to_the_same_bytes(root: Path, source: Path, told: dict[str, Any]) -> None:
    """Exported once more, elsewhere; and a build that has its stages needs no export."""
    first = next(each for each in told["stages"] if each["stage"] == "export")["files"]["model.onnx"]["sha256"]
    again = root / "again"
    again.mkdir()
    asked = {"source": str(source), "out": str(again), "kind": "causal-lm", "opset": 21, "ir": 10, "code": False}
    run(Job("sluiceway.pipeline.torch_export.run:export", asked, "again", python()))
    assert hashlib.sha256((again / "model.onnx").read_bytes()).hexdigest() == first
    stated = json.loads((again / "config.json").read_text())
    assert stated["rope_theta"] == stated["rope_parameters"]["rope_theta"]
    assert all(stage["kept"] for stage in build(root)["stages"])


@pytest.mark.parametrize(
    ("name", "recipe", "held"),
    [
        ("bert", {"task": "embed", "export": {"kind": "encoder", "tool": "torch"}}, {"min_cosine": 0.98}),
        ("xlm-roberta", {"task": "classify", "export": {"kind": "classifier"}}, {"min_top1": 0.9}),
    ],
)
def test_encoders_and_classifiers_too(
    tmp_path: Path, name: str, recipe: dict[str, Any], held: dict[str, float]
) -> None:
    limits = {"data": "tiny.jsonl", "rounds": 1, **held}
    make(tmp_path, name, passes=EIGHT, validate=limits, **recipe)
    told = build(tmp_path)
    assert nearness(report(told, "export")["torch"]["compared"]) < NEAR
    compare = report(told, "compare")
    # BERT is computed once more by a forward of our own, in float64; the other only by torch.
    assert compare["verdict"] == "pass" if name == "bert" else nearness(compare["torch"]) < NEAR
    outputs = [port.name for port in verify(Path(told["package"])).graph.outputs]
    assert outputs == (["sentence_embedding", "last_hidden_state"] if name == "bert" else ["logits"])
