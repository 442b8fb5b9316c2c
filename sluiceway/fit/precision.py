"""In which numbers a model's weights are published: torch_dtype, and what quantization_config says of its parts."""

from __future__ import annotations

from typing import Final

from sluiceway.fit.fields import Fields
from sluiceway.fit.shape import Precision

_DTYPES: Final = {"float32": "float32", "float16": "float16", "half": "float16", "bfloat16": "bfloat16"}
# What stands in the lists of modules that stay as they are -> the part of the model.
_PARTS: Final = (
    ("self_attn", "attention"),
    ("attention", "attention"),
    ("shared_expert", "shared_experts"),
    ("indexer", "indexer"),
    ("mlp\\.(gate|up|gate_up|down)_proj", "mlp"),
)


def precision_of(fields: Fields) -> Precision:
    """``bits`` None: quantised in a way that isn't known here."""
    stated = fields.text("torch_dtype", "dtype", default="bfloat16").removeprefix("torch.")
    if stated not in _DTYPES:
        raise fields.bad("torch_dtype", f"is one of {', '.join(_DTYPES)}", stated)
    dtype, block = _DTYPES[stated], fields.block("quantization_config")
    if block is None:
        return Precision(dtype)
    method = block.text("quant_method", "quant_algo", default="not named")
    return Precision(dtype, method, _bits(block, method), _kept(block, method))


def _bits(block: Fields, method: str) -> float | None:
    """Bits of a weight with its share of the scales."""
    if method in ("fp8", "fbgemm_fp8"):
        size = block.listed("weight_block_size", int)
        across = size[0] * size[1] if size and len(size) == 2 and min(size) > 0 else 0
        return 8 + (32 / across if across else 0)
    if method == "mxfp4":
        return 4 + 8 / 32
    if method in ("gptq", "awq"):
        bits, group = block.whole("bits", high=16), block.whole("group_size", default=128, low=-1)
        return bits + ((16 + bits) / group if group > 0 else 0)
    if method == "bitsandbytes":
        return 4 + 32 / 64 if block.flag("load_in_4bit", False) else 8.0
    if method == "compressed-tensors":
        return _compressed(block)
    return None


def _compressed(block: Fields) -> float | None:
    groups = block.block("config_groups")
    found = [stated for group in groups.blocks() if (stated := group.block("weights"))] if groups else []
    if len(found) != 1:
        return None
    bits, group = found[0].whole("num_bits", high=16), found[0].whole("group_size", default=0, low=-1)
    return bits + (16 / group if group > 0 else 0)


def _kept(block: Fields, method: str) -> frozenset[str]:
    names: list[str] = []
    for key in ("ignore", "ignored_layers", "modules_to_not_convert"):
        names += block.listed(key, str) or []
    kept = {part for name in names for text, part in _PARTS if text in name}
    # Only the matrices of experts are ever in this format.
    return frozenset(kept | ({"attention", "mlp", "shared_experts", "indexer"} if method == "mxfp4" else set()))
