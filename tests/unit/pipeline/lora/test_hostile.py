"""Adapters that must not be sent: each stops with one error that names the place, and says what to do."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sluiceway.pipeline.lora import CONFIG, WEIGHTS
from sluiceway.pipeline.lora.header import MAX_HEADER
from tests.unit.pipeline.lora.test_check import fault
from tests.unit.pipeline.lora.tiny import settings, weights, write, write_raw

FIRST = "base_model.model.model.layers.0.self_attn.v_proj.lora_A.weight"
TWO = {"dtype": "F16", "shape": [1, 2], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("changed", "message", "hint"),
    [
        ({"peft_type": "IA3"}, "peft_type: must be LORA, got 'IA3'", "train a LoRA adapter"),
        ({"r": 64}, "r: Workers AI takes ranks up to 32, got 64", "train it with a rank of at most 32"),
        ({"r": 0}, "r: must be at least 1, got 0", "write a whole number from 1"),
        ({"r": "8"}, "r: must be a whole number, got '8'", "write the number without quotes"),
        ({"r": True}, "r: must be a whole number, got True", "write a whole number"),
        ({"lora_alpha": 0}, "lora_alpha: must be a number above 0, got 0", "take the file"),
        ({"layers_to_transform": ["0"]}, "layers_to_transform: must be numbers of layers", "list them"),
        ({"layers_to_transform": [0, 18]}, "layers_to_transform: the base has no such layer, got 18", "has 18 layers"),
        ({"exclude_modules": {}}, "exclude_modules: must be a list of names", "list the modules"),
        ({"task_type": "SEQ_CLS"}, "task_type: must be CAUSAL_LM, got 'SEQ_CLS'", "the bases are chat models"),
        ({"bias": "all"}, "bias: must be none, got 'all'", 'train it with bias="none"'),
        ({"use_dora": True}, "use_dora: DoRA has magnitudes", "train it without use_dora"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save: it replaces whole modules", "train it without"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out: its matrices are laid out for Conv1D", "train it without"),
        ({"r": 16, "use_rslora": True}, "use_rslora: rank-stabilised scaling isn't known", '"lora_alpha": 64,'),
        ({"rank_pattern": {"v_proj": 40}}, "rank_pattern.v_proj: Workers AI takes ranks up to 32", "train it"),
        ({"rank_pattern": {"q_proj": 1}}, "rank_pattern: matches no module of the adapter, got 'q_proj'", "take it"),
        ({"alpha_pattern": {"(a+)+$": 8}}, "alpha_pattern: a key must be the name of a module", "write names"),
        ({"model_type": "mistral"}, "model_type: the model_type of @cf/google/gemma-2b-it-lora is gemma", 'write "mo'),
        ({"target_modules": ["v_proj", "lm_head"]}, "target_modules: no module of the base has this name", "the base"),
        ({"target_modules": "(v|q)_proj"}, "target_modules: must be a list of names", "list the modules by name"),
        ({"target_modules": []}, "target_modules: names no module", "take the file that PEFT wrote"),
        ({"target_modules": None}, "target_modules: must be a list of names", "list the modules by name"),
        ({"target_modules": [1]}, "target_modules: must be a list of names", "list the modules by name"),
        (
            {"target_modules": ["q_proj"]},
            f"{WEIGHTS}: model.layers.0.self_attn.v_proj: the config doesn't name",
            "take",
        ),
        ({"target_modules": ["v_proj", "q_proj"]}, f"{WEIGHTS}: the weights lack model.layers.0.self_attn.q_proj", "t"),
        ({"layers_to_transform": [0, 1]}, "the config doesn't name this module", "take config and weights"),
        ({"exclude_modules": ["v_proj"]}, "the config doesn't name this module", "take config and weights"),
        ({"r": 2}, "must have the shape [2, 2048] (rank x in) on @cf/google/gemma-2b-it-lora, got [1, 2048]", "take"),
    ],
)
def test_a_config_that_the_base_would_not_follow_is_refused(
    changed: dict[str, Any], message: str, hint: str, tmp_path: Path
) -> None:
    found = fault(write(tmp_path / "a", settings(**changed)))
    assert message in str(found)
    assert hint in str(found.hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "this isn't JSON"),
        (b"[]", "this must be a mapping, got 'list'"),
        (b"\xff\xfe{}", "this isn't JSON"),
        (b'{"r": NaN}', "NaN is no number of JSON"),
        (b"[" * 100_000, "this isn't JSON"),
        (b'{"peft_type": "LORA"}', "is required"),
        (b'{"a": "\\ud800"}', "this isn't JSON"),
        (b" " * 2**20, "the file must be under 1,048,576 bytes"),
        (b"PK\x03\x04", "this is an archive under another name"),
        (pickle.dumps({}), "this is a pickle"),
    ],
    ids=["empty", "list", "utf16", "nan", "deep", "short", "surrogate", "large", "zip", "pickle"],
)
def test_a_config_that_is_none_is_refused(text: bytes, message: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    (folder / CONFIG).write_bytes(text)
    assert message in str(fault(folder))


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (b"{", b"", "this isn't a safetensors file"),
        (b"{]", b"", "the header isn't JSON"),
        (b"[1]", b"", "the header must be a mapping"),
        ({}, b"", "the file holds no tensors"),
        ({"__metadata__": {"format": "pt"}}, b"", "the file holds no tensors"),
        ({FIRST: 1}, b"", "the header is damaged here"),
        ({FIRST: {**TWO, "shape": [1, -2]}}, b"1234", "the header is damaged here: shape.1"),
        ({FIRST: {**TWO, "dtype": "I8"}}, b"1234", "a weight must be of floats, got 'I8'"),
        ({FIRST: {**TWO, "dtype": "F8_E4M3"}}, b"1234", "a weight must be of floats"),
        ({FIRST: {**TWO, "shape": [2**31, 2**31]}}, b"1234", "its shape and type make"),
        ({FIRST: {**TWO, "data_offsets": [0, 2**40]}}, b"1234", "its shape and type make 4 bytes, got 1099511627776"),
        ({FIRST: {**TWO, "data_offsets": [4, 8]}}, b"12345678", "tensors overlap, or bytes between them"),
        ({FIRST: TWO, "b": TWO}, b"1234", "tensors overlap, or bytes between them"),
        ({FIRST: TWO}, b"12345", "the header tells of 4 bytes of weights, got 5"),
        ({FIRST: TWO}, b"123", "the header tells of 4 bytes of weights, got 3"),
        (f'{{"{FIRST}": {json.dumps(TWO)}, "{FIRST}": {json.dumps(TWO)}}}'.encode(), b"1234", "a name stands twice"),
        ({FIRST: TWO}, b"1234", "a module has lora_A and lora_B, got 'lora_A'"),
        ({"x": TWO}, b"1234", "the base has no such module"),
        ({FIRST.replace(".weight", ".default.weight"): TWO}, b"1234", "the base has no such module"),
        ({FIRST.replace("layers.0", "layers.18"): TWO}, b"1234", "the base has no such layer, got 18"),
        ({FIRST.replace("v_proj", "qkv_proj"): TWO}, b"1234", "the base has no such module"),
        ({"base_model.model.lm_head.lora_A.weight": TWO}, b"1234", "the base has no such module"),
    ],
)
def test_a_header_that_is_not_of_an_adapter_is_refused(
    header: object, data: bytes, message: str, tmp_path: Path
) -> None:
    found = fault(write_raw(tmp_path / "a", header, data))
    assert message in str(found)
    assert WEIGHTS in str(found.path)


def test_a_header_that_claims_to_be_huge_is_not_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    with (folder / WEIGHTS).open("wb") as file:
        file.write((MAX_HEADER + 1).to_bytes(8, "little"))
        file.truncate(MAX_HEADER + 100)
    assert "the header may have 4,194,304 bytes" in str(fault(folder))
    (folder / WEIGHTS).write_bytes((2**63).to_bytes(8, "little") + b"{}")
    assert "this isn't a safetensors file" in str(fault(folder))


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    with (folder / WEIGHTS).open("r+b") as file:
        file.truncate(300 * 10**6)
    found = fault(folder)
    assert "the file must be under 300,000,000 bytes, got 300000000" in str(found)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_ox_09_a_weight_that_is_no_number_is_named(value: float, tmp_path: Path) -> None:
    tensors = weights()
    tensors[FIRST][0, 2047] = value
    found = fault(write(tmp_path / "a", None, tensors))
    assert found.path == f"{tmp_path / 'a' / WEIGHTS}: {FIRST}"
    assert "a weight is NaN or infinite, got '1 of 2048 values'" in str(found)


def test_an_adapter_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    tensors = {name: values * np.float16(-0.0) if "lora_B" in name else values for name, values in weights().items()}
    found = fault(write(tmp_path / "a", None, tensors))
    assert "the adapter changes nothing: all of lora_B is zero" in str(found)
    tensors[max(tensors)][0, 0] = 1
    write(tmp_path / "b", None, tensors)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
def test_ox_02_a_link_a_pipe_and_a_folder_are_no_files(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    assert "this is a symbolic link" in str(fault(folder))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert "this is no plain file" in str(fault(folder))
    (folder / name).unlink()
    (folder / name).mkdir()
    assert "this is no plain file" in str(fault(folder))


def test_ox_09_a_pickle_is_not_opened_under_any_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    (folder / WEIGHTS).write_bytes(pickle.dumps({"a": 1}))
    assert "this is a pickle" in str(fault(folder))
    (folder / WEIGHTS).rename(folder / "adapter_model.bin")
    found = fault(folder)
    assert f"there is no {WEIGHTS} here, got 'adapter_model.bin'" in str(found)
    assert "safe_serialization=True" in str(found.hint)


def test_a_folder_that_lacks_a_file_or_is_none_is_told(tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    (folder / CONFIG).unlink()
    assert f"there is no {CONFIG} here, got 'no file'" in str(fault(folder))
    assert "there is no such folder" in str(fault(tmp_path / "none"))


def test_a_name_that_would_steer_a_terminal_is_shown_in_letters(tmp_path: Path) -> None:
    for folder in (
        write_raw(tmp_path / "a", {"\x1b[2Jx": TWO}, b"1234"),
        write_raw(tmp_path / "b", {"\x1b[2Jx": {**TWO, "dtype": "I8"}}, b"1234"),
        write_raw(tmp_path / "c", {"x": {**TWO, "\x1b[2J": 1}}, b"1234"),
        write(tmp_path / "d", settings(rank_pattern={"\x1b[2J": 40})),
        write(tmp_path / "e", settings(rank_pattern={"\x1b[2J": 0})),
        write(tmp_path / "f", settings(target_modules=["\x1b[2J"])),
        write(tmp_path / "g", settings(base_model_name_or_path="\x1b[2J")),
    ):
        found = fault(folder)
        assert "\x1b" not in found.render()
        assert "x1b[2J" in found.render()
