"""The whole answer: the verdict, the card it tells of, and what it says on a terminal and in JSON."""

from __future__ import annotations

import json

import pytest

from sluiceway.domain.model import Price
from sluiceway.errors import UserError
from sluiceway.fit.cards import Card, Load
from sluiceway.fit.count import parameters
from sluiceway.fit.document import document
from sluiceway.fit.money import Mix
from sluiceway.fit.report import Question, Report, Subject, answer
from sluiceway.fit.shape import Shape
from sluiceway.fit.units import human_bytes, human_count, human_time, human_usd
from sluiceway.fit.view import lines
from tests.unit.fit.shapes import llama, shipped

H100 = Card("h100", 80 * 10**9, 3.35e12, 989e12, 1979e12, 2.0)
H200 = Card("h200", 141 * 10**9, 4.8e12, 989e12, 1979e12, 3.0)
UNPRICED = Card("new", 10**12, 1e13, 3e15)
CARDS = (H100, H200, UNPRICED)
KIMI = Subject("kimi", "x", shipped("kimi-k2.6"), ("@cf/moonshotai/kimi-k2.6",), Price(0.95, 4.0))


def ask(subject: Subject = KIMI, cards: tuple[Card, ...] = CARDS, **changed: object) -> Report:
    base: dict[str, object] = {"load": Load(8192, 8), "month": 10**8, "mix": Mix(3, 1)}
    return answer(subject, cards, Question(**{**base, **changed}))  # type: ignore[arg-type]


def of(shape: Shape) -> Subject:
    return Subject("it", "x", shape)


def test_the_verdict_says_what_fits_and_by_how_much_the_rest_misses() -> None:
    assert ask().verdict == (
        "fits: Workers AI (@cf/moonshotai/kimi-k2.6), GPU (8 x h200 at int4, tensor parallel 8); "
        "misses: edge by 2.20 TB"
    )
    assert ask(of(shipped("minilm-l6")), load=Load(512, 1)).verdict.startswith("fits: edge, GPU (1 x h100 at bf16")
    assert ask(of(shipped("smollm2-135m"))).verdict.endswith("misses: edge by 424 MB, Workers AI")


def test_what_fits_no_cards_says_by_how_much_they_miss() -> None:
    tiny = (Card("tiny", 4 * 10**9, 1e11, 1e13, linked=False),)
    found = ask(of(shipped("kimi-k2")), tiny)
    assert found.best is None and found.speed is None and found.reserved is None
    gpu = found.tiers[2]
    assert not gpu.fits and gpu.short and gpu.detail == "not even 8 x tiny hold it at int4"
    assert found.verdict.startswith("misses: edge by")
    assert any(line.split()[:2] == ["tiny", "4.00"] and "over 8 (-" in line for line in lines(found))


def test_the_cheapest_set_with_a_price_is_told_of_unless_a_card_is_asked_for() -> None:
    best = ask().best
    assert best is not None and best.card == H200  # 8 x 3 dollars; the h100 takes 16 x 2, the new one has no price
    asked = ask(gpu="h100").best
    assert asked is not None and (asked.card, asked.cards) == (H100, 16)
    unpriced = ask(gpu="new")
    assert unpriced.best is not None and unpriced.reserved is None
    assert ask(gpu="new", usd_hour=9.0).reserved is not None


def test_a_price_that_is_stated_replaces_the_cards_own() -> None:
    usual, stated = ask().reserved, ask(usd_hour=1.5).reserved
    assert usual and stated
    assert usual.usd == 8 * 3.0 * 730
    assert (stated.usd, stated.usd_hour) == (usual.usd / 2, 1.5)


def test_a_model_is_told_of_as_it_is_published_and_smaller_where_only_that_fits() -> None:
    names = {name: ask(of(shipped(name))).best for name in ("kimi-k2", "glm-4.6", "gpt-oss-20b")}
    assert {name: best.format.name for name, best in names.items() if best} == {
        "kimi-k2": "fp8", "glm-4.6": "bf16", "gpt-oss-20b": "int4",
    }  # fmt: skip
    small = (Card("small", 10 * 10**9, 1e12, 1e14, linked=False),)
    lesser = ask(of(shipped("glm-4.7-flash")), small).best
    assert lesser is not None and lesser.format.name == "fp8", "60 GB in bf16 are more than 8 of them have"


def test_cards_are_judged_at_as_many_sequences_as_they_hold() -> None:
    found = ask(load=Load(8192, 1))
    assert found.speed is not None and found.speed.batch == 1
    assert found.reserved is not None and found.reserved.batch > 8


def test_an_unknown_card_and_a_context_over_the_models_own_are_refused() -> None:
    with pytest.raises(UserError, match="--gpu: no such card is known, got 'h300'") as caught:
        ask(gpu="h300")
    assert caught.value.hint == "known are h100, h200, new"
    with pytest.raises(UserError, match="--context: the model's context ends at 262,144 tokens, got 262145"):
        ask(load=Load(262_145, 1))
    assert ask(load=Load(262_144, 1)).tiers[2].fits


def test_an_encoder_writes_nothing_and_pays_for_nothing_written() -> None:
    subject = Subject("bge", "x", shipped("bge-m3"), ("@cf/baai/bge-m3",), Price(0.012, 0.0))
    found = ask(subject, load=Load(512, 1))
    assert found.question.mix == Mix(1, 0)
    assert found.workers_ai_usd == pytest.approx(1.2)
    text = "\n".join(lines(found))
    assert "tokens a second" not in text and "cache of one sequence" not in text and "tokens read:written" not in text


def test_the_terminal_has_the_verdict_first_and_a_table_for_each_question() -> None:
    told = list(lines(ask()))
    assert told[0].startswith("kimi: fits: Workers AI")
    titles = [told[at + 1] for at, line in enumerate(told) if not line]
    assert titles == [
        "model", "parameters", "weights", "cache of one sequence (MLA)", "tiers",
        "cards for 8 sequences of 8,192 tokens, cache in bf16 (in brackets: what one card lacks)",
        "speed, estimated", "cost of a month",
    ]  # fmt: skip
    assert told[-1] == "note: the part that vision_config describes is not counted"
    assert max(map(len, told)) < 180
    assert any(line.split() == ["bf16", "576", "MB", "1.15", "GB", "9.21", "GB"] for line in told)


def test_a_context_over_the_models_own_is_not_given_a_size() -> None:
    told = list(lines(ask(of(shipped("smollm2-135m")))))
    assert sum("over its context" in line for line in told) == 2
    sizes = document(ask(of(shipped("smollm2-135m"))))["cache_bytes"]["bf16"]
    assert sizes == {"8192": 188_743_680, "16384": None, "131072": None}


def test_one_card_is_shown_when_it_is_asked_for() -> None:
    told = list(lines(ask(gpu="h100")))
    assert any(line.startswith("  h100") for line in told)
    assert not any(line.startswith("  h200") for line in told)


def test_the_document_is_json_and_has_the_numbers_unrounded() -> None:
    found = json.loads(json.dumps(document(ask())))
    assert found["parameters"]["total"] == parameters(KIMI.shape).total
    assert found["weights_bytes"]["bf16"] == 2 * found["parameters"]["total"]
    assert [tier["name"] for tier in found["tiers"]] == ["edge", "Workers AI", "GPU"]
    assert found["best"]["layout"] == {"tensor": 8, "stages": 1, "expert": 1}
    assert found["cost"]["workers_ai_usd"] == pytest.approx(171.25)
    assert found["cost"]["break_even"]["tokens"] == -(-8 * 3 * 730 * 10**6 // 1.7125)
    assert len(found["cards"]) == 3 * 3


def test_a_quantisation_that_is_not_known_is_said_so() -> None:
    found = ask(of(llama(quantization_config={"quant_method": "brand-new"})), load=Load(512, 1))
    text = "\n".join(lines(found))
    assert "brand-new, its size isn't known here" in text and "as published  not known" in text
    assert document(found)["weights_bytes"]["published"] is None


@pytest.mark.parametrize(
    ("told", "as_told"),
    [
        (human_bytes(0), "0"), (human_bytes(200_000), "0.2 MB"), (human_bytes(22_840_000), "22.8 MB"),
        (human_bytes(1_030_000_000_000), "1.03 TB"), (human_bytes(594e9), "594 GB"), (human_count(576), "576"),
        (human_count(22_713_216), "22.7M"), (human_count(8_030_261_248), "8.03B"), (human_usd(1.2), "$1.20"),
        (human_usd(16352), "$16,352"), (human_time(0.0034), "3.40 ms"), (human_time(12.34), "12.3 s"),
    ],
)  # fmt: skip
def test_numbers_are_written_with_three_figures(told: str, as_told: str) -> None:
    assert told == as_told
