"""A decoder whose weights ship as GGUF, read without the library that wrote them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from sluiceway.errors import UserError
from sluiceway.pipeline.graphs.export import ExportSettings, export
from sluiceway.pipeline.graphs.gguf import open_gguf
from sluiceway.pipeline.graphs.unpack import unpack
from sluiceway.pipeline.validate.reference import load_reference
from tests.unit.pipeline.graphs import gguf_files as gguf
from tests.unit.pipeline.graphs.sessions import run, tokens

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
HEADS = {"attn_q": 4, "attn_k": 2}


def named(name: str) -> str:
    """A checkpoint's name as the format has it."""
    if not name.startswith("model.layers."):
        return {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}[name]
    _, _, number, rest = name.split(".", 3)
    return f"blk.{number}.{NAMES[rest.removesuffix('.weight')]}.weight"


def interleaved(values: gguf.Floats, heads: int) -> gguf.Floats:
    """Row i and row i + half of a head become neighbours, row by row."""
    half = len(values) // heads // 2
    order = [(2 * head + side) * half + at for head in range(heads) for at in range(half) for side in (0, 1)]
    return values[order]


def write(path: Path, kind: int, **changes: object) -> dict[str, gguf.Floats]:
    """The file; what its weights stand for, by a checkpoint's names and in its order of rows."""
    facts, stored, meant = gguf.facts(**changes), {}, {}
    for name, values in gguf.llama(np.random.default_rng(9), len(facts["tokenizer.ggml.tokens"])).items():
        target = named(name)
        heads = HEADS.get(target.split(".")[-2], 0)
        data, meant[name] = gguf.packed(values, kind if values.ndim == 2 else gguf.F32)
        moved = gguf.packed(interleaved(values, heads), kind)[0] if heads else data
        stored[target] = (values.shape, kind if values.ndim == 2 else gguf.F32, moved)
    gguf.write(path, facts, stored)
    return meant


@pytest.mark.parametrize("kind", [gguf.F32, gguf.F16, gguf.Q4_0, gguf.Q4_1, gguf.Q8_0])
def test_each_kind_of_number_is_widened_to_what_it_stands_for(tmp_path: Path, kind: int) -> None:
    meant = write(tmp_path / "tiny.gguf", kind)
    (tmp_path / "out").mkdir()
    assert unpack(tmp_path / "tiny.gguf", tmp_path / "out")[:2] == ("model.safetensors", "config.json")
    read = load_file(tmp_path / "out" / "model.safetensors")
    assert read.keys() == meant.keys()
    for name, values in meant.items():
        assert np.abs(read[name] - values).max() < 1e-6, name


def test_what_was_unpacked_exports_and_answers_as_its_weights_say(tmp_path: Path) -> None:
    meant = write(tmp_path / "tiny.gguf", gguf.Q4_1)
    for name in ("source", "out"):
        (tmp_path / name).mkdir()
    unpack(tmp_path / "tiny.gguf", tmp_path / "source")
    path = export(tmp_path / "source", tmp_path / "out", ExportSettings("causal-lm", cache=False)).path
    ids = tokens(np.random.default_rng(1), 2, 7) % len(meant["model.embed_tokens.weight"])
    places = np.broadcast_to(np.arange(7), ids.shape)
    wanted = load_reference(tmp_path / "source").forward(ids, np.ones_like(ids))["logits"]
    got = run(path, input_ids=ids, attention_mask=np.ones_like(ids), position_ids=places)["logits"]
    assert np.abs(got - wanted).max() < 1e-4
    config = json.loads((tmp_path / "source" / "config.json").read_text("utf-8"))
    assert config["rope_theta"] == config["rope_parameters"]["rope_theta"] == 20000.0
    assert (config["rms_norm_eps"], config["tie_word_embeddings"], config["eos_token_id"]) == (1e-5, True, 0)


def test_the_tokenizer_merges_as_the_file_says_and_keeps_what_is_control(tmp_path: Path) -> None:
    write(tmp_path / "tiny.gguf", gguf.F32)
    (tmp_path / "out").mkdir()
    unpack(tmp_path / "tiny.gguf", tmp_path / "out")
    tokenizer = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert tokenizer.encode("ab ab 12<end>").tokens == ["ab", "Ġab", "Ġ", "1", "2", "<end>"]
    assert tokenizer.decode(tokenizer.encode("ab ab 12<end>").ids) == "ab ab 12"
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text("utf-8"))
    assert (config["chat_template"], config["eos_token"]) == ("{{ messages }}", "<end>")
    assert config["model_max_length"] == 64


Break = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: b"GGML" + data[4:], "isn't a GGUF file of version 2 or 3"),
        (lambda data: data[:4] + struct.pack("<I", 9) + data[8:], "isn't a GGUF file of version 2 or 3"),
        (lambda data: data[:200], "the file is cut off"),
        (lambda data: data[:-64], "doesn't lie in the file"),
        (lambda data: data[:8] + struct.pack("<Q", 1 << 40) + data[16:], "too many entries"),
        (lambda data: data.replace(b"output_norm.weight", b"output_nurm.weight"), "a tensor that isn't read here"),
        (lambda data: data.replace(b"blk.1.ffn_up.weight", b"blk.0.ffn_up.weight"), "is there twice"),
        (lambda data: data[:24] + struct.pack("<Q", 1 << 50) + data[32:], "too many entries"),
    ],
)
def test_a_broken_file_is_refused_in_a_sentence_and_nothing_is_written(
    tmp_path: Path, spoil: Break, message: str
) -> None:
    path = tmp_path / "tiny.gguf"
    write(path, gguf.Q8_0)
    path.write_bytes(spoil(path.read_bytes()))
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match=message):
        unpack(path, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"general.architecture": "mamba"}, "the architecture that isn't read here, got 'mamba'"),
        ({"llama.rope.scaling.type": "yarn"}, "a scaled rotary embedding that isn't read here, got 'yarn'"),
        ({"tokenizer.ggml.pre": "qwen2"}, "a tokenizer that isn't read here, got 'gpt2/qwen2'"),
    ],
)
def test_what_is_not_read_here_is_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    write(tmp_path / "tiny.gguf", gguf.F32, **changes)
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match=message):
        unpack(tmp_path / "tiny.gguf", tmp_path / "out")


def test_a_kind_of_number_that_is_not_read_is_named(tmp_path: Path) -> None:
    gguf.write(tmp_path / "x.gguf", {"a": 1}, {"w": ((2, 32), 12, bytes(64))})
    with pytest.raises(UserError, match="the tensor w has a kind of number"):
        open_gguf(tmp_path / "x.gguf")
