"""A validation that can fail: for what can't be right, and for what a recipe asks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from sluiceway.errors import UserError
from sluiceway.pipeline.validate.encode import Features
from sluiceway.pipeline.validate.report import QualityFailed
from sluiceway.pipeline.validate.settings import Settings
from sluiceway.pipeline.validate.validate import validate
from tests.unit.pipeline.validate import models
from tests.unit.pipeline.validate.models import Made

CHAT = Settings("chat", min_top1=0.95, max_kl=0.02, max_perplexity_rise=0.05, rounds=0)
EMBED = Settings("embed", min_cosine=0.98, rounds=0)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return models.make(tmp_path_factory.mktemp("chat"), "causal-lm")


@pytest.fixture(scope="module")
def embed(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return models.make(tmp_path_factory.mktemp("embed"), "encoder")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (models.all_nan, "12 of 12 rows answer NaN or infinity"),
        (models.shifted, "shift of all logits in standard deviations"),
        (models.permuted, "top-1 agreement 0"),
        (models.noise(0.1), "top-1 agreement 0."),
    ],
)
def test_ox_09_a_doctored_decoder_fails_for_the_right_reason(chat: Made, spoil: models.Spoil, reason: str) -> None:
    report = validate(chat.spoilt(spoil), chat.reference, CHAT, chat.data)
    assert report.verdict == "fail"
    assert reason in report.reasons[0]
    json.dumps(report.document(), allow_nan=False)


def test_ox_09_a_good_decoder_passes_and_says_on_which_machine(chat: Made) -> None:
    report = validate(chat.spoilt(models.noise(1e-4)), chat.reference, CHAT, chat.data)
    assert (report.verdict, report.reasons) == ("pass", ())
    document = report.require("model.onnx").document()
    assert document["figures"]["top1"] > 0.99
    assert 0 < document["figures"]["perplexity"] < 1e6
    assert document["cpu"]["onnxruntime"] and document["cpu"]["machine"]


def test_a_shift_of_all_logits_is_seen_by_nothing_else(chat: Made) -> None:
    report = validate(chat.spoilt(models.shifted), chat.reference, CHAT, chat.data)
    assert len(report.reasons) == 1
    assert report.figures["top1"] == 1.0


def test_the_export_of_a_checkpoint_answers_as_its_definition(chat: Made, embed: Made) -> None:
    assert validate(chat.model, chat.reference, CHAT, chat.data).figures["kl"] < 1e-9
    report = validate(embed.model, embed.reference, EMBED, embed.data)
    assert report.figures["cosine_min"] > 1 - 1e-9
    assert report.figures["rank"] == pytest.approx(1.0)
    assert report.figures["padded_cosine"] > 1 - 1e-9


def test_ox_10_a_padded_batch_is_held_to_its_rows_alone_with_a_cache_too(tmp_path: Path) -> None:
    made = models.make(tmp_path, "causal-lm", cache=True)
    figures = validate(made.model, made.reference, CHAT, made.data).figures
    assert figures["padded_kl"] < 1e-6
    assert figures["cached_kl"] < 1e-6


def test_ox_10_a_cache_that_is_not_read_fails(tmp_path: Path) -> None:
    made = models.make(tmp_path, "causal-lm", cache=True)
    report = validate(made.spoilt(models.forgetful), made.reference, CHAT, made.data)
    assert report.figures["padded_kl"] < 1e-6
    assert len(report.reasons) == 1
    assert report.reasons[0].startswith("KL divergence of a row with a cache from itself in one call")


@pytest.mark.parametrize("kind", ["causal-lm", "encoder"])
def test_ox_10_a_model_that_sees_padding_fails(tmp_path: Path, kind: str) -> None:
    made = models.make(tmp_path, kind)
    settings = CHAT if kind == "causal-lm" else EMBED
    report = validate(made.spoilt(models.blind), made.reference, settings, made.data)
    assert report.verdict == "fail"
    assert "of a padded row" in report.reasons[0]


def test_ox_01_a_batch_that_was_frozen_fails(embed: Made) -> None:
    def frozen(model: onnx.ModelProto) -> None:
        for value in model.graph.input:
            value.type.tensor_type.shape.dim[0].dim_value = 1

    report = validate(embed.spoilt(frozen), embed.reference, EMBED, embed.data)
    assert any("batch 3 of length 16 doesn't run" in reason for reason in report.reasons)


def test_a_fail_tells_its_numbers_and_ends_with_a_code_of_its_own(embed: Made) -> None:
    report = validate(embed.spoilt(models.noise(0.3)), embed.reference, EMBED, embed.data)
    assert f"minimum cosine {report.figures['cosine_min']:.3g}, at least 0.98 is asked for" in report.reasons
    with pytest.raises(QualityFailed) as failed:
        report.require("models/x/model.onnx")
    assert failed.value.exit_code == 3


def test_sizes_are_held_to_the_float_file_and_to_the_limit(embed: Made) -> None:
    settings = Settings("embed", max_size_share=0.26, max_size_mb=0.001, rounds=0)
    report = validate(embed.model, embed.model, settings, embed.data)
    assert report.figures["size_share"] == 1.0
    assert report.reasons[0].startswith("size in MB 0.0")
    assert report.reasons[1] == "share of the float size 1, at most 0.26 is asked for"


def test_a_share_without_a_float_file_could_not_be_taken(embed: Made) -> None:
    settings = Settings("embed", max_size_share=0.26, rounds=0)
    report = validate(embed.model, embed.reference, settings, embed.data)
    assert report.reasons == ("share of the float size could not be taken, at most 0.26 is asked for",)


def test_a_classifier_is_held_to_its_labels(tmp_path: Path) -> None:
    made = models.make(tmp_path, "classifier")
    texts = [json.loads(line)["text"] for line in made.data.read_text("utf-8").splitlines()]
    labels = ("calm", "cross", "sad") * 4
    labelled = [json.dumps({"text": text, "label": label}) for text, label in zip(texts, labels, strict=True)]
    made.data.write_text("\n".join(labelled), encoding="utf-8")
    settings = Settings("classify", min_accuracy=0.999, rounds=0)
    report = validate(made.model, made.reference, settings, made.data)
    assert report.figures["accuracy"] == report.figures["accuracy_reference"] < 0.999
    assert report.reasons[0].startswith("accuracy 0")
    made.data.write_text('{"text": "w1", "label": "merry"}', encoding="utf-8")
    with pytest.raises(UserError, match="a label that the model doesn't have, got 'merry'"):
        validate(made.model, made.reference, settings, made.data)


def test_a_model_of_features_is_validated_without_a_tokenizer(tmp_path: Path) -> None:
    from models.recipes.intent.graph import model_bytes

    rng = np.random.default_rng(2)
    path, data = tmp_path / "model.onnx", tmp_path / "data.jsonl"
    weights = rng.standard_normal((8, 2)).astype(np.float32)
    path.write_bytes(model_bytes(weights, np.zeros(2, np.float32), ["simple", "complex"]))
    data.write_text('{"text": "a", "label": "simple"}\n{"text": "bb", "label": "complex"}', encoding="utf-8")
    encoder = Features("features", lambda texts: rng.standard_normal((len(texts), 8)))
    report = validate(path, path, Settings("classify", min_top1=1.0, rounds=0), data, encoder)
    assert (report.verdict, report.figures["kl"]) == ("pass", 0.0)
    assert "padded_kl" not in report.figures


def test_speed_and_memory_are_reported_and_gated_only_when_asked(embed: Made) -> None:
    settings = Settings("embed", min_tokens_per_second=1e12, rounds=1, runs=5)
    report = validate(embed.model, embed.model, settings, embed.data)
    assert report.speed is not None and report.reference_speed is not None
    assert report.speed.runs == 5
    assert 0 < report.speed.p50_ms <= report.speed.p90_ms <= report.speed.p99_ms
    assert report.reasons == (f"tokens a second {report.speed.tokens_per_second:.3g}, at least 1e+12 is asked for",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings("embed", min_top1=0.9), "min_top1 has no meaning for the task embed"),
        (Settings("chat", min_cosine=0.9), "min_cosine has no meaning for the task chat"),
        (Settings("classify", min_accuracy=0.9), "min_accuracy needs labels"),
    ],
)
def test_a_limit_that_can_not_be_judged_is_refused(embed: Made, settings: Settings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        validate(embed.model, embed.reference, settings, embed.data)


def test_a_recipe_without_a_limit_on_quality_is_held_to_the_usual_one() -> None:
    assert Settings.of("embed", {"data": "x.jsonl", "max_size_mb": 25}).min_cosine == 0.98
    assert Settings.of("chat", {"max_kl": None}).max_kl == 0.02
    asked = Settings.of("chat", {"min_top1": 0.9, "batches": [[1, 4]]})
    assert (asked.max_kl, asked.batches) == (None, ((1, 4),))
