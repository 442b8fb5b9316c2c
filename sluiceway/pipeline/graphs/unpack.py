"""A GGUF file of the Llama family becomes the folder of a checkpoint: safetensors, config.json, tokenizer files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from sluiceway.errors import UserError
from sluiceway.pipeline.graphs.gguf import Floats, Gguf, open_gguf

_WHOLE: Final = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_PARTS: Final = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LAYER = re.compile(r"blk\.(\d+)\.([a-z_]+)\.weight")
_CONTROL = 3
_DIGITS_ALONE: Final = {"smollm": True, "gpt-2": False}
"""How a tokenizer cuts a text before its merges: whether each digit stands alone."""


def unpack(path: Path, out: Path) -> tuple[str, ...]:
    """Writes the checkpoint of ``path`` into ``out``, which exists, as float32, and gives the names of its files.

    Weights that were quantised stay on their grid: what is measured against them is measured against that, not against
    the model that they were made of. Raises UserError for another architecture, tensor or tokenizer.
    """
    from safetensors.numpy import save_file

    file = open_gguf(path)
    if file.facts.get("general.architecture") != "llama":
        raise _other(file, "the architecture", file.facts.get("general.architecture"))
    config = _config(file)
    files: dict[str, str] = {"config.json": _json(config), **_tokenizer(file)}
    tensors = {_name(file, name): _weight(file, name, config) for name in sorted(file.tensors)}
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")
    save_file(tensors, out / "model.safetensors", {"format": "pt"})
    return ("model.safetensors", *files)


def _weight(file: Gguf, name: str, config: Mapping[str, Any]) -> Floats:
    values = file.read(name)
    for part, heads in (("attn_q", "num_attention_heads"), ("attn_k", "num_key_value_heads")):
        if f".{part}." in name:
            return _halves_apart(values, config[heads])
    return values


def _halves_apart(values: Floats, heads: int) -> Floats:
    """Rows of a head lie as pairs that turn together (0, 1), (2, 3); a checkpoint has the first of all pairs first."""
    pairs = values.reshape(heads, values.shape[0] // heads // 2, 2, -1)
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(values.shape))


def _name(file: Gguf, name: str) -> str:
    if name in _WHOLE:
        return _WHOLE[name]
    layer = _LAYER.fullmatch(name)
    if layer is None or layer[2] not in _PARTS:
        raise _other(file, "a tensor", name)
    return f"model.layers.{layer[1]}.{_PARTS[layer[2]]}.weight"


def _config(file: Gguf) -> dict[str, Any]:
    def fact(key: str) -> Any:  # noqa: ANN401 - as the file has it
        if f"llama.{key}" not in file.facts:
            raise _other(file, "a file without the key", f"llama.{key}")
        return file.facts[f"llama.{key}"]

    if (scaling := file.facts.get("llama.rope.scaling.type", "none")) != "none":
        raise _other(file, "a scaled rotary embedding", scaling)
    if "token_embd.weight" not in file.tensors:
        raise _other(file, "a file without the tensor", "token_embd.weight")
    theta = float(fact("rope.freq_base"))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": fact("embedding_length"),
        "intermediate_size": fact("feed_forward_length"),
        "max_position_embeddings": fact("context_length"),
        "num_attention_heads": fact("attention.head_count"),
        "num_hidden_layers": fact("block_count"),
        "num_key_value_heads": fact("attention.head_count_kv"),
        "rms_norm_eps": float(f"{fact('attention.layer_norm_rms_epsilon'):.6g}"),
        # Both names of it: a loader that knows one alone takes 10000 in silence.
        "rope_theta": theta,
        "rope_parameters": {"rope_theta": theta, "rope_type": "default"},
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "vocab_size": file.tensors["token_embd.weight"].shape[0],
        **{f"{key}_token_id": file.facts[f"tokenizer.ggml.{long}_token_id"] for key, long in _named(file)},
    }


def _named(file: Gguf) -> list[tuple[str, str]]:
    known = (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))
    return [(key, long) for key, long in known if f"tokenizer.ggml.{long}_token_id" in file.facts]


def _tokenizer(file: Gguf) -> dict[str, str]:
    """tokenizer.json and tokenizer_config.json, from the words, kinds and merges in the file."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    facts = file.facts
    cut = facts.get("tokenizer.ggml.pre")
    if facts.get("tokenizer.ggml.model") != "gpt2" or cut not in _DIGITS_ALONE:
        raise _other(file, "a tokenizer", f"{facts.get('tokenizer.ggml.model')}/{cut}")
    words, kinds = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in facts["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    bytes_of = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    digits = [pre_tokenizers.Digits(individual_digits=True)] if _DIGITS_ALONE[cut] else []
    made.pre_tokenizer = pre_tokenizers.Sequence([*digits, bytes_of])
    made.decoder = decoders.ByteLevel()
    control = [word for word, kind in zip(words, kinds, strict=True) if kind == _CONTROL]
    made.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in control])
    names = {f"{key}_token": words[facts[f"tokenizer.ggml.{long}_token_id"]] for key, long in _named(file)}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": facts["llama.context_length"],
        **names,
        **({"chat_template": facts["tokenizer.chat_template"]} if "tokenizer.chat_template" in facts else {}),
    }
    return {"tokenizer.json": made.to_str(), "tokenizer_config.json": _json(config)}


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _other(file: Gguf, what: str, got: object) -> UserError:
    return UserError(f"{what} that isn't read here", path=str(file.path), got=got, hint="take the model's safetensors")
