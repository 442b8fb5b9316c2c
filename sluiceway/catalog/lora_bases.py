"""The models of Workers AI that answer with a LoRA adapter of one's own: what each is made of, and the limits.

`models fit`, the check of an adapter and the catalogue all read this table. Its ids are those that Cloudflare names
``-lora``; others that its page once listed refuse an upload (MODEL_NOT_SUPPORTED), and quantised ones take none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sluiceway.domain.fault import Fault

MAX_RANK: Final = 32
MAX_BYTES: Final = 300 * 10**6
"""``adapter_model.safetensors`` is smaller. Cloudflare says 300 MB and not which; the smaller reading is taken."""
MAX_ADAPTERS: Final = 100
"""Of an account; there is no way to delete one."""
RESERVED: Final = "cf-public-"
"""How the names of Cloudflare's own adapters begin."""

_LAYER: Final = {
    "q_proj": "self_attn", "k_proj": "self_attn", "v_proj": "self_attn", "o_proj": "self_attn",
    "gate_proj": "mlp", "up_proj": "mlp", "down_proj": "mlp",
}  # fmt: skip


@dataclass(frozen=True)
class LoraBase:
    """``model_type`` is what adapter_config.json says of it to Cloudflare. Widths are numbers of elements.

    ``made_from``: its name on Hugging Face without the owner, in lower case; ``kin``: models of the same shape whose
    adapters load on it too, though they were trained beside other weights.
    """

    id: str
    model_type: Literal["llama", "mistral", "gemma"]
    made_from: str
    kin: tuple[str, ...]
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int

    @property
    def linear(self) -> Mapping[str, tuple[int, int]]:
        """(in, out) of each linear module of a layer, by its path there: ``self_attn.q_proj``."""
        heads, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        widths = {
            "q_proj": (self.hidden, heads), "k_proj": (self.hidden, keys), "v_proj": (self.hidden, keys),
            "o_proj": (heads, self.hidden), "gate_proj": (self.hidden, self.intermediate),
            "up_proj": (self.hidden, self.intermediate), "down_proj": (self.intermediate, self.hidden),
        }  # fmt: skip
        return {f"{_LAYER[name]}.{name}": width for name, width in widths.items()}


_ALL: Final = (
    LoraBase("@cf/meta-llama/llama-2-7b-chat-hf-lora", "llama", "llama-2-7b-chat-hf", ("llama-2-7b-hf",),
             4096, 11_008, 32, 32, 32, 128, 32_000),
    LoraBase("@cf/mistral/mistral-7b-instruct-v0.2-lora", "mistral", "mistral-7b-instruct-v0.2",
             ("mistral-7b-v0.1", "mistral-7b-v0.2", "mistral-7b-instruct-v0.1"),
             4096, 14_336, 32, 32, 8, 128, 32_000),
    LoraBase("@cf/google/gemma-2b-it-lora", "gemma", "gemma-2b-it", ("gemma-2b", "gemma-1.1-2b-it"),
             2048, 16_384, 18, 8, 1, 256, 256_000),
    LoraBase("@cf/google/gemma-7b-it-lora", "gemma", "gemma-7b-it", ("gemma-7b", "gemma-1.1-7b-it"),
             3072, 24_576, 28, 16, 16, 256, 256_000),
)  # fmt: skip

LORA_BASES: Final[Mapping[str, LoraBase]] = {base.id: base for base in _ALL}


def check_adapter_name(name: str) -> str:
    """The name of an adapter in an account, or a Fault."""
    fits = 0 < len(name) <= 100 and name.isascii() and name[0].isalnum()
    if not fits or not all(letter.isalnum() or letter in "._-" for letter in name):
        rule = "an adapter's name is 1 to 100 letters, digits, . _ and -, first a letter or digit"
        raise Fault(rule, got=name, hint="write it like support-tone-1")
    return name


def base_of_shape(model_type: str, hidden: int, layers: int, kv_heads: int, vocab: int) -> LoraBase | None:
    """The base of exactly this shape."""
    wanted = (model_type, hidden, layers, kv_heads, vocab)
    return next((b for b in _ALL if (b.model_type, b.hidden, b.layers, b.kv_heads, b.vocab) == wanted), None)
