"""``sluiceway models fit``: the verdict first, one JSON document, and one clear error for what can't be told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sluiceway.cli import models
from sluiceway.errors import UserError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEWAY_ROOT", str(ROOT))


def fit(*words: str) -> Result:
    return CliRunner().invoke(models.app, ["fit", *words], catch_exceptions=True)


def test_kimi_and_glm_are_answered_without_their_weights() -> None:
    for name in ("kimi-k2", "glm-5", "glm-4.6", "glm-4.5-air", "deepseek-v3"):
        done = fit(name)
        assert done.exit_code == 0, done.exception
        first = done.stdout.splitlines()[0]
        assert first.startswith(f"{name}: fits: GPU (") and "misses: edge by" in first


def test_the_model_that_the_gateway_serves_is_answered_with_its_price() -> None:
    done = fit(
        "chat@2", "--tokens-per-month", "1000000000", "--mix", "1:1", "--gpu", "H200", "--gpu-price", "2", "--json"
    )
    assert done.exit_code == 0, done.exception
    told = json.loads(done.stdout)
    assert (told["model"], told["source"]) == ("chat@2", "models/fit/kimi-k2.6.json")
    assert told["cost"]["workers_ai_usd"] == pytest.approx(500 * (0.95 + 4.00))
    assert told["best"]["card"] == "h200" and told["cost"]["reserved"]["usd_hour"] == 2.0
    assert told["asked"] == {
        "context": 8192, "sequences": 8, "cache": "bf16", "tokens_per_month": 10**9, "mix": [1, 1], "gpu": "h200",
    }  # fmt: skip


def test_context_concurrency_and_cache_change_what_is_needed() -> None:
    def need(*words: str) -> int:
        told = json.loads(fit("glm-4.7-flash", "--gpu", "b200", "--json", *words).stdout)
        return int(told["best"]["need_bytes"])

    usual = need()
    assert need("--context", "131072") > usual
    assert need("--concurrency", "32") > usual
    assert need("--cache", "fp8") < usual


def test_a_short_context_of_the_model_is_the_default() -> None:
    assert json.loads(fit("minilm-l6", "--json").stdout)["asked"]["context"] == 512


def test_a_config_of_a_path_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text((ROOT / "models/fit/llama-3.1-8b.json").read_text("utf-8"), "utf-8")
    assert json.loads(fit(str(path), "--json").stdout)["parameters"]["total"] == 8_030_261_248


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nope",), "MODEL: there is no such model, got 'nope'"),
        (("kimi-k2", "--gpu", "h900"), "--gpu: no such card is known, got 'h900'"),
        (("kimi-k2", "--context", "200000"), "--context: the model's context ends at 131,072 tokens, got 200000"),
        (("kimi-k2", "--mix", "3"), "--mix: a mix is two numbers, not both 0, got '3'"),
        (("kimi-k2", "--mix", "0:0"), "--mix: a mix is two numbers, not both 0, got '0:0'"),
        (("kimi-k2", "--cache", "int2"), "--cache: no such cache, got 'int2'"),
    ],
)
def test_a_mistake_in_the_call_is_one_error_of_the_users(words: tuple[str, ...], told: str) -> None:
    done = fit(*words)
    assert isinstance(done.exception, UserError)
    assert (str(done.exception), done.exception.exit_code) == (told, 2)
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words", [("--context", "0"), ("--concurrency", "-1"), ("--tokens-per-month", "x"), ("--gpu-price", "nan")]
)
def test_a_number_that_is_none_is_refused_by_its_option(words: tuple[str, str]) -> None:
    assert fit("kimi-k2", *words).exit_code == 2


def test_an_unknown_architecture_ends_with_2_and_says_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "glm5_next", "hidden_size": 4096}', "utf-8")
    done = fit(str(path))
    assert isinstance(done.exception, UserError)
    assert done.exception.exit_code == 2
    assert done.exception.message.startswith("neither size nor memory of a glm5_next can be told")
    assert "glm_moe_dsa" in str(done.exception.hint)
