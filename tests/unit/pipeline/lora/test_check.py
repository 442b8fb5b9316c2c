"""Adapters that a base answers with, and what each way of not fitting it is told as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sluiceway.catalog.lora_bases import LORA_BASES, LoraBase
from sluiceway.errors import UserError
from sluiceway.pipeline.lora import check_adapter, reopen
from sluiceway.pipeline.lora.named import base_of, plain
from tests.unit.pipeline.lora.tiny import GEMMA, LLAMA, MISTRAL, settings, weights, write

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def fault(folder: Path, base: LoraBase = GEMMA) -> UserError:
    with pytest.raises(UserError) as caught:
        check_adapter(folder, base)
    assert caught.value.path is not None and caught.value.path.startswith(str(folder))
    return caught.value


def test_an_adapter_that_fits_is_told_with_what_it_holds(tmp_path: Path) -> None:
    read: list[int] = []
    found = check_adapter(write(tmp_path / "a"), GEMMA, read.append)
    assert (found.rank, found.alpha, found.modules, found.layers, found.dtypes) == (1, 16, ("v_proj",), 18, ("F16",))
    assert found.parameters == 18 * (2048 + 256)
    assert sum(read) == found.parameters * 2
    assert found.bytes == len(found.config) + (tmp_path / "a" / "adapter_model.safetensors").stat().st_size
    assert found.notes == ()


@pytest.mark.parametrize("id", LORA_BASES)
def test_every_base_takes_an_adapter_of_its_own_shapes_and_of_no_other(id: str, tmp_path: Path) -> None:
    base = LORA_BASES[id]
    small = settings(base, layers_to_transform=[0, 3], target_modules="all-linear")
    folder = write(tmp_path / "a", small, weights(base, ALL, layers=[0, 3]))
    assert check_adapter(folder, base).modules == tuple(sorted(ALL))
    for other in LORA_BASES.values():
        if other is not base:
            named = settings(other, layers_to_transform=[0, 3], target_modules="all-linear")
            (folder / "adapter_config.json").write_text(json.dumps(named))
            assert f"on {other.id}" in str(fault(folder, other))


def test_model_type_is_added_to_what_is_sent_and_a_file_that_has_it_goes_as_it_is(tmp_path: Path) -> None:
    bare = check_adapter(write(tmp_path / "a"), GEMMA)
    assert bare.added_model_type
    assert json.loads(bare.config) == {**settings(), "model_type": "gemma"}
    stated = check_adapter(write(tmp_path / "b", settings(model_type="gemma")), GEMMA)
    assert not stated.added_model_type
    assert stated.config == (tmp_path / "b" / "adapter_config.json").read_bytes()


def test_the_digest_is_of_the_bytes_and_not_of_the_place(tmp_path: Path) -> None:
    one, same = check_adapter(write(tmp_path / "a"), GEMMA), check_adapter(write(tmp_path / "b"), GEMMA)
    other = check_adapter(write(tmp_path / "c", tensors=weights(seed=2)), GEMMA)
    louder = check_adapter(write(tmp_path / "d", settings(lora_alpha=32)), GEMMA)
    assert one.digest == same.digest
    assert len({one.digest, other.digest, louder.digest}) == 3


def test_a_rank_pattern_is_held_to_the_matrices_and_the_highest_rank_is_told(tmp_path: Path) -> None:
    tensors = weights(modules=["v_proj"], rank=1) | weights(modules=["k_proj"], rank=3)
    stated = settings(target_modules=["k_proj", "v_proj"], rank_pattern={"k_proj": 3})
    assert check_adapter(write(tmp_path / "a", stated, tensors), GEMMA).rank == 3
    found = fault(write(tmp_path / "b", stated | {"rank_pattern": {"k_proj": 2}}, tensors))
    assert "must have the shape [2, 2048] (rank x in)" in str(found)
    assert found.got == [3, 2048]


def test_float32_and_bfloat16_are_taken(tmp_path: Path) -> None:
    wide: dict[str, Any] = {name: values.astype(np.float32) for name, values in weights().items()}
    assert check_adapter(write(tmp_path / "a", None, wide), GEMMA).dtypes == ("F32",)
    import ml_dtypes

    half: dict[str, Any] = {name: values.astype(ml_dtypes.bfloat16) for name, values in weights().items()}
    assert check_adapter(write(tmp_path / "b", None, half), GEMMA).dtypes == ("BF16",)
    half[min(half)][0, 5] = np.inf
    assert "a weight is NaN or infinite, got '1 of 2048 values'" in str(fault(write(tmp_path / "c", None, half)))


def test_an_adapter_of_a_sibling_is_taken_with_a_note(tmp_path: Path) -> None:
    stated = settings(MISTRAL, base_model_name_or_path="mistralai/Mistral-7B-v0.1", layers_to_transform=0)
    folder = write(tmp_path / "a", stated, weights(MISTRAL, layers=[0]))
    (note,) = check_adapter(folder, MISTRAL).notes
    assert note == "trained on mistral-7b-v0.1, of the same shape as mistral-7b-instruct-v0.2 but with other weights"
    (second,) = check_adapter(write(tmp_path / "b", settings(alpha_pattern={"v_proj": 8})), GEMMA).notes
    assert "alpha_pattern: Cloudflare doesn't say whether it is read" in second


@pytest.mark.parametrize(
    "stated",
    ["google/gemma-2b-it", "/models/Gemma-2B-it/", "unsloth/gemma-2b-it-bnb-4bit", "@cf/google/gemma-2b-it-lora",
     "C:\\models\\gemma-2b-it", "/hub/models--google--gemma-2b-it/snapshots/0a1b2c"],
)  # fmt: skip
def test_a_base_is_known_under_the_names_that_trainers_write(stated: str, tmp_path: Path) -> None:
    assert check_adapter(write(tmp_path / "a", settings(base_model_name_or_path=stated)), GEMMA).notes == ()


def test_another_base_is_told_with_the_one_that_fits(tmp_path: Path) -> None:
    found = fault(write(tmp_path / "a", settings(base_model_name_or_path="meta-llama/Llama-2-7b-hf")))
    assert found.hint == f"take --base {LLAMA.id}"
    assert "is gemma-2b-it, and not this, got 'zai/glm-4-9b'" in str(
        fault(write(tmp_path / "b", settings(base_model_name_or_path="zai/glm-4-9b")))
    )
    for nothing in (None, ""):
        silent = fault(write(tmp_path / "c", settings(base_model_name_or_path=nothing)))
        assert "doesn't say which model it was trained on" in str(silent)
    assert plain("///") == ""


def test_a_base_is_named_whole_or_by_its_last_part() -> None:
    assert base_of("gemma-2b-it-lora") is base_of(GEMMA.id) is GEMMA
    with pytest.raises(UserError, match="no model of Workers AI that takes LoRA adapters") as caught:
        base_of("@cf/zai-org/glm-4.7-flash")
    assert GEMMA.id in str(caught.value.hint)


def test_a_file_that_changes_after_the_check_is_not_sent(tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    found = check_adapter(folder, GEMMA)
    with reopen(found) as opened:
        assert opened.read() == (folder / "adapter_model.safetensors").read_bytes()
    write(folder, None, weights(seed=7))
    with pytest.raises(UserError, match="the file was changed after it was checked"):
        reopen(found)
