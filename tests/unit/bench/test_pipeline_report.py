"""The goals of the model path's measurement, judged on made-up figures."""

from __future__ import annotations

import io
import math

from rich.console import Console

from bench.pipeline.report import Quality, Row, goals, remarks, table

GOOD: dict[str, Quality] = {
    "fp32": {"rows": 800, "kl": 0.0, "top1": 1.0, "perplexity": 16.8, "largest": 1e-4},
    "int8": {"rows": 800, "kl": 0.005, "top1": 0.96, "perplexity": 16.9, "largest": 2.0},
    "int4 mixed": {"rows": 800, "kl": 0.19, "top1": 0.72, "perplexity": 20.1, "largest": 20.0},
    "k_quant_mixed": {"rows": 800, "kl": 0.22, "top1": 0.70, "perplexity": 19.9, "largest": 21.0},
}
SENTENCES: dict[str, Quality] = {
    "fp32": {"rows": 26, "cosine_min": 1.0, "cosine_mean": 1.0, "rank": 1.0, "largest": 1e-7},
    "int8": {"rows": 26, "cosine_min": 0.991, "cosine_mean": 0.997, "rank": 0.99, "largest": 0.1},
}


def row(model: str, by: str, name: str, mb: float, quality: Quality, decode: float | None = 40.0) -> Row:
    return {
        "model": model,
        "by": by,
        "name": name,
        "failed": "",
        "made_seconds": 10.0,
        "made_peak_mb": 900.0,
        "mb": mb,
        "share": mb / (538.4 if model == "SmolLM2" else 90.3),
        "quality": quality,
        "prefill": 300.0,
        "decode": decode,
        "loaded_mb": 200.0,
        "peak_mb": 400.0,
    }


def measured() -> dict[str, Row]:
    """All goals hold."""
    return {
        "fp32": row("SmolLM2", "ours", "fp32", 538.4, GOOD["fp32"]),
        "int8": row("SmolLM2", "ours", "int8", 151.8, GOOD["int8"]),
        "int4 mixed": row("SmolLM2", "ours", "int4 mixed", 109.4, GOOD["int4 mixed"]),
        "rival": row("SmolLM2", "builder", "k_quant_mixed", 113.6, GOOD["k_quant_mixed"], 60.0),
        "sentences fp32": row("MiniLM", "ours", "fp32", 90.3, SENTENCES["fp32"], None),
        "sentences int8": row("MiniLM", "ours", "int8", 23.0, SENTENCES["int8"], None),
    }


def missed(rows: dict[str, Row]) -> list[str]:
    return [goal["goal"] for goal in goals(list(rows.values())) if not goal["holds"]]


def shown(rows: dict[str, Row], model: str) -> str:
    console = Console(width=200, file=io.StringIO())
    console.print(table(list(rows.values()), model))
    text = console.file
    assert isinstance(text, io.StringIO)
    return text.getvalue()


def test_all_goals_hold_on_good_figures_and_are_as_many_as_were_asked_for() -> None:
    rows = measured()
    assert missed(rows) == []
    assert len(goals(list(rows.values()))) == 10


def test_a_model_that_drifts_a_little_too_far_misses_its_goal() -> None:
    rows = measured()
    rows["int8"]["quality"] = {**GOOD["int8"], "kl": 0.0201}
    rows["sentences int8"]["quality"] = {**SENTENCES["int8"], "cosine_min": 0.9799}
    assert missed(rows) == [
        "SmolLM2 INT8 weights: KL to float, at most 0.02000",
        "MiniLM INT8: minimum cosine at least 0.98",
    ]


def test_int4_may_be_neither_larger_nor_worse_than_the_builders() -> None:
    rows = measured()
    rows["rival"].update({"mb": 109.3, "quality": {**GOOD["k_quant_mixed"], "kl": 0.18}})
    assert missed(rows) == [
        "SmolLM2 INT4: MB, the builder's k_quant_mixed, at most 109.3",
        "SmolLM2 INT4: KL, the builder's k_quant_mixed, at most 0.18000",
    ]


def test_sizes_are_held_to_a_share_of_the_float_size() -> None:
    rows = measured()
    rows["int4 mixed"].update({"share": 0.231})
    rows["rival"].update({"mb": 200.0})
    rows["sentences int8"].update({"share": 0.2601})
    assert missed(rows) == [
        "SmolLM2 INT4: share of the float size, at most 23.0%",
        "MiniLM INT8: share of the float size, at most 26.0%",
    ]


def test_a_float_export_that_answers_otherwise_than_its_loader_misses() -> None:
    rows = measured()
    rows["fp32"]["quality"] = {**GOOD["fp32"], "largest": 0.02}
    assert missed(rows) == ["SmolLM2 float export: difference to its loader's answers, at most 1.0e-03"]


def test_a_figure_that_is_no_number_and_one_that_was_not_taken_miss() -> None:
    rows = measured()
    rows["int8"]["quality"] = {**GOOD["int8"], "kl": math.nan}
    rows["sentences int8"]["quality"] = {}
    assert missed(rows) == [
        "SmolLM2 INT8 weights: KL to float, at most 0.02000",
        "MiniLM INT8: minimum cosine at least 0.98",
        "every model that was made is opened and run",
    ]


def test_a_rival_that_made_no_model_is_told_with_the_reason_and_asks_nothing_of_ours() -> None:
    rows = measured()
    rows["rival"].update({"failed": "ImportError: get_parameter_dtype", "mb": None, "share": None, "quality": {}})
    assert missed(rows) == []
    assert remarks(list(rows.values())) == [
        "builder k_quant_mixed: no model: ImportError: get_parameter_dtype",
    ]
    assert "no model" in shown(rows, "SmolLM2")


def test_slower_decoding_is_said() -> None:
    assert remarks(list(measured().values())) == ["decoding int4 mixed takes 1.50 times as long as k_quant_mixed"]


def test_each_table_has_the_figures_of_its_task_and_a_dash_for_what_was_not_taken() -> None:
    decoders, encoders = shown(measured(), "SmolLM2"), shown(measured(), "MiniLM")
    assert "over 800 tokens" in decoders and "0.19000" in decoders and "20.3 %" in decoders
    assert "over 26 sentences" in encoders and "0.991" in encoders and " - " in encoders
