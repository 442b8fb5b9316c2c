"""The families of models whose layers are known here, by the ``model_type`` of their config.json.

A family that isn't here is refused: a count that leaves out a part it doesn't know is worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Bias = Literal["none", "always", "asked"]


@dataclass(frozen=True)
class Family:
    """``asked``: a bias where the config's attention_bias says so. ``norms``: of the hidden width, in a layer.

    ``experts``: which keys and rules give the expert layers. ``window``: which layers a sliding_window is for, where
    the config lists no layer_types.
    """

    latent: bool = False
    qkv_bias: Bias = "none"
    out_bias: Bias = "none"
    qk_norm: Literal["none", "head", "full", "asked"] = "none"
    sinks: bool = False
    norms: int = 2
    tied: bool = False
    gated: bool = True
    mlp_bias: bool = False
    encoder: bool = False
    experts: Literal["none", "deepseek", "qwen", "all"] = "none"
    expert_bias: bool = False
    router_bias: bool = False
    indexer: bool = False
    window: Literal["never", "all", "flag", "alternate", "five-of-six"] = "never"
    edge: str = ""
    """Why the wasm runtime of the edge doesn't run it; empty where it does."""


_MOE: Final = "its layers of experts have no operator in the wasm runtime"
_LLAMA: Final = Family(qkv_bias="asked", out_bias="asked")
_DEEPSEEK: Final = Family(latent=True, experts="deepseek", router_bias=True, edge=_MOE)
_DSA: Final = Family(latent=True, experts="deepseek", router_bias=True, indexer=True, edge=_MOE)
_BERT: Final = Family(qkv_bias="always", out_bias="always", gated=False, mlp_bias=True, encoder=True)

FAMILIES: Final[dict[str, Family]] = {
    "llama": _LLAMA,
    "granite": _LLAMA,
    "smollm3": _LLAMA,
    "mistral": Family(window="all"),
    "phi3": Family(window="all"),
    "qwen2": Family(qkv_bias="always", window="flag"),
    "qwen3": Family(qkv_bias="asked", out_bias="asked", qk_norm="head", window="flag"),
    "olmo2": Family(qkv_bias="asked", out_bias="asked", qk_norm="full"),
    "glm": Family(qkv_bias="asked"),
    "glm4": Family(qkv_bias="asked", norms=4),
    "gemma": Family(qkv_bias="asked", out_bias="asked", tied=True),
    "gemma2": Family(qkv_bias="asked", out_bias="asked", tied=True, norms=4, window="alternate"),
    "gemma3_text": Family(
        qkv_bias="asked", out_bias="asked", tied=True, norms=4, qk_norm="head", window="five-of-six"
    ),
    "mixtral": Family(experts="all", window="all", edge=_MOE),
    "qwen2_moe": Family(qkv_bias="always", experts="qwen", window="flag", edge=_MOE),
    "qwen3_moe": Family(
        qkv_bias="asked", out_bias="asked", qk_norm="head", experts="qwen", window="flag", edge=_MOE
    ),
    "glm4_moe": Family(qkv_bias="asked", qk_norm="asked", experts="deepseek", router_bias=True, edge=_MOE),
    "gpt_oss": Family(
        qkv_bias="asked", out_bias="asked", sinks=True, experts="all", expert_bias=True, router_bias=True,
        window="alternate", edge=_MOE,
    ),
    "deepseek_v2": Family(latent=True, experts="deepseek", edge=_MOE),
    "deepseek_v3": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "kimi_k25": _DEEPSEEK,
    "glm4_moe_lite": _DEEPSEEK,
    "deepseek_v32": _DSA,
    "glm_moe_dsa": _DSA,
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
}  # fmt: skip
