"""Checkpoints of architectures in use with random weights, small enough to export in seconds.

Run by the interpreter that has torch: python -m tests.export.tiny_models FOLDER, which gets a folder for each.
"""

from __future__ import annotations

import sys
from typing import Any, Final

WORDS: Final = 128
_COMMON: Final[dict[str, Any]] = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
    "initializer_range": 0.15,
    "pad_token_id": 0,
}
_GROUPED: Final = {"num_key_value_heads": 2, "head_dim": 16}
_EXPERTS: Final = {
    "moe_intermediate_size": 32,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
}
_LATENT: Final = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 32,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
}
CONFIGS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "llama": ("LlamaConfig", "AutoModelForCausalLM", _GROUPED | {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3Config", "AutoModelForCausalLM", _GROUPED | {"tie_word_embeddings": True}),
    "glm4": ("Glm4Config", "AutoModelForCausalLM", _GROUPED),
    "glm4-moe": ("Glm4MoeConfig", "AutoModelForCausalLM", _GROUPED | _EXPERTS | {"first_k_dense_replace": 1}),
    "glm4-moe-lite": ("Glm4MoeLiteConfig", "AutoModelForCausalLM", _LATENT | _EXPERTS),
    "kimi-k2": ("DeepseekV3Config", "AutoModelForCausalLM", _LATENT | _EXPERTS | {"first_k_dense_replace": 1}),
    "bert": ("BertConfig", "AutoModel", {}),
    "xlm-roberta": ("XLMRobertaConfig", "AutoModelForSequenceClassification", {"num_labels": 3}),
}


def main(folder: str) -> None:
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    for name, (config, loader, own) in CONFIGS.items():
        torch.manual_seed(3)
        made = getattr(transformers, config)(**_COMMON | own)
        getattr(transformers, loader).from_config(made).save_pretrained(f"{folder}/{name}")


if __name__ == "__main__":
    main(sys.argv[1])
